// Moving stored samples does not change the results of reads.

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/store/backup/verify.h"
#include "aggregator/store/store.h"
#include "tests/aggregator/store/random_fleet.h"
#include "tests/support/countersets.h"
#include "tests/support/log_capture.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::IsOkAndHolds;
using testing::kStart;
using testing::OneDiskAgent;
using testing::RandomFleet;
using testing::StatusIs;
using testing::TestAgent;
using testing::TestStore;

// The samples read of each life of an instance, in order: "Disk 4294967299 C:"
// has "1 C: 10", "2 C: 20". Failed ticks are listed under the counterset.
using Samples = std::map<std::string, std::vector<std::string>>;

Samples SamplesOf(TestStore& store, const std::string& machine,
                  absl::Time from = absl::InfinitePast(),
                  absl::Time to = absl::InfiniteFuture()) {
  Samples samples;
  EXPECT_OK(store->Read(
      {.machine = machine, .from = from, .to = to, .filter = {}},
      [&](const Frame& frame) {
        EXPECT_EQ(frame.query->machine, machine);
        const std::string& name = frame.query->schema->registration.name;
        const std::vector<std::string> ticks = testing::ToText(frame);
        auto tick = ticks.begin();
        for (const Frame::Run& run : frame.runs) {
          auto& of_life = samples[absl::StrCat(name, " ", run.instance->life,
                                               " ", run.instance->name)];
          of_life.insert(of_life.end(), tick, tick + run.tick_count);
          tick += run.tick_count;
        }
        for (const Frame::Failure& failure : frame.failures) {
          samples[name].push_back(
              absl::StrCat((*frame.clocks)[failure.tick].perf_time_100nsec, " ",
                           failure.status));
        }
        return absl::OkStatus();
      },
      [](const Loss&) {}));
  return samples;
}

// Describes where the first argument differs from the second.
std::string Difference(const Samples& a, const Samples& b) {
  for (const auto& [name, ticks] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return absl::StrCat(name, " is new");
    for (size_t i = 0; i < std::max(ticks.size(), other->second.size()); ++i) {
      const std::string one = i < ticks.size() ? ticks[i] : "nothing";
      const std::string two =
          i < other->second.size() ? other->second[i] : "nothing";
      if (one == two) continue;
      return absl::StrCat(name, ", sample ", i, ": ", one, " and not ", two);
    }
  }
  for (const auto& [name, ticks] : b) {
    if (!a.contains(name)) return absl::StrCat(name, " is gone");
  }
  return "";
}

TEST(Compaction, DoesNotChangeReadResults) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    TestStore store;
    TestStore untouched;
    RandomFleet fleet(&store, seed);
    RandomFleet same(&untouched, seed);
    std::mt19937_64 random(seed);
    for (int step = 0; step < 400; ++step) {
      fleet.Step();
      same.Step();
      if (random() % 40 == 0) {
        ASSERT_OK(store.Compact(fleet.received() - absl::Minutes(5)));
      }
      if (random() % 150 == 0) store.Reopen();
    }
    const auto expect_same = [&] {
      for (const std::string machine : RandomFleet::kMachines) {
        ASSERT_EQ(Difference(SamplesOf(store, machine),
                             SamplesOf(untouched, machine)),
                  "");
        auto losses = store.ReadLosses(machine);
        auto expected = untouched.ReadLosses(machine);
        std::sort(losses.begin(), losses.end());
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(losses, expected);
        EXPECT_EQ(store->directory().NewestSample(machine),
                  untouched->directory().NewestSample(machine));
      }
    };
    expect_same();
    ASSERT_OK(store.Compact());
    expect_same();
    ASSERT_OK(store.Compact());
    store.Reopen();
    ASSERT_OK(store.Compact());
    expect_same();
  }
}

TEST(Compaction, AReadEndsInTheListOfChunks) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  constexpr int kHours = 4;  // of a chunk each
  for (int hour = 0; hour < kHours; ++hour) {
    agent.AddTick(agent.query, ClocksAt(hour * 3600), {{agent.c, {1}}});
    ASSERT_OK(agent.Send(kStart + absl::Hours(hour)));
  }
  ASSERT_OK(store.Compact());
  int chunks = 0;
  int last = INT32_MAX;
  int frames = 0;
  const auto read = [&] {
    chunks = frames = 0;
    return store->Read(
        {.machine = "web-1",
         .from = absl::InfinitePast(),
         .to = absl::InfiniteFuture(),
         .on_chunk =
             [&] {
               return ++chunks == last ? absl::CancelledError("enough")
                                       : absl::OkStatus();
             }},
        [&](const Frame&) {
          ++frames;
          return absl::OkStatus();
        },
        [](const Loss&) {});
  };
  EXPECT_OK(read());
  EXPECT_EQ(chunks, 2 * kHours);  // listed, then read
  EXPECT_EQ(frames, kHours);
  for (last = 1; last <= kHours; ++last) {
    EXPECT_THAT(read(), StatusIs(absl::StatusCode::kCancelled, "enough"));
    EXPECT_EQ(chunks, last);
    EXPECT_EQ(frames, 0);
  }
}

TEST(Compaction, ReadsOnlyTheRangeAndWantedInstances) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  const uint32_t d = agent.Instance(agent.machine_id, agent.disk, "D:");
  for (int t = 0; t < 4 * 3600; t += 60) {
    agent.AddTick(agent.query, ClocksAt(t), {{agent.c, {1}}, {d, {2}}});
    ASSERT_OK(agent.Send(kStart + absl::Seconds(t)));
  }
  ASSERT_OK(store.Compact());
  EXPECT_THAT(SamplesOf(store, "web-1", kStart + absl::Hours(9)), IsEmpty());
  // At most an hour's chunk on either side, of both instances.
  const std::vector<std::string> hour = store.Read(
      "web-1", kStart + absl::Minutes(70), kStart + absl::Minutes(71));
  EXPECT_LE(hour.size(), 240);
  EXPECT_THAT(hour, ::testing::Contains("4200 C: 1"));

  std::vector<std::string> instances;
  ASSERT_OK(store->Read(
      {.machine = "web-1",
       .from = absl::InfinitePast(),
       .to = absl::InfiniteFuture(),
       .filter = {},
       .instances =
           [](const CollectedQuery&, const Instance& instance) {
             return instance.name == "D:";
           }},
      [&](const Frame& frame) {
        for (const Frame::Run& run : frame.runs) {
          instances.push_back(run.instance->name);
        }
        return absl::OkStatus();
      },
      [](const Loss&) {}));
  EXPECT_THAT(instances, ::testing::Each("D:"));
  EXPECT_FALSE(instances.empty());
}

TEST(Compaction, RecognizesBatchesInChunks) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  const uint32_t epoch = store.Epoch("web-1", 1).number;
  for (uint64_t i = 1; i <= 5; ++i) {
    agent.Tick(static_cast<double>(i), i);
    ASSERT_OK_AND_ASSIGN(const auto batch, agent.TakeBatch());
    BatchToCommit to_commit{.epoch_number = epoch,
                            .sequence = batch->sequence,
                            .agent = "web-1",
                            .fingerprint = 1000 + i,
                            .received = kStart,
                            .batch = &batch->batch,
                            .definitions = batch->definitions.get(),
                            .decoded = &batch->decoded};
    ASSERT_OK(store->Commit({to_commit}));
    if (i != 3) continue;
    ASSERT_OK(store.Compact());
  }
  const auto expect_known = [&] {
    for (uint64_t i = 1; i <= 5; ++i) {
      EXPECT_THAT(store->HasBatch(epoch, i, 1000 + i), IsOkAndHolds(true)) << i;
      EXPECT_THAT(store->HasBatch(epoch, i, 999 + i), IsOkAndHolds(false)) << i;
    }
    EXPECT_THAT(store->HasBatch(epoch, 6, 0), IsOkAndHolds(false));
    EXPECT_THAT(store->HasBatch(epoch + 1, 1, 1001), IsOkAndHolds(false));
    EXPECT_THAT(store->HasBatch(epoch, 0, 0), IsOkAndHolds(false));
  };
  expect_known();
  ASSERT_OK(store.Compact());
  expect_known();
  store.Reopen();
  expect_known();
}

TEST(Compaction, RemovesDamagedBatches) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  agent.Tick(1, 10);
  ASSERT_OK(agent.Send());
  v1::Batch damaged;
  damaged.set_payload("not what it should be");
  const DecodedBatch empty;
  ASSERT_OK(store->Commit(
      {BatchToCommit{.epoch_number = store.Epoch("web-1", 1).number,
                     .sequence = 2,
                     .agent = "web-1",
                     .received = kStart + absl::Seconds(1),
                     .batch = &damaged,
                     .decoded = &empty}}));
  agent.next_sequence = 3;
  agent.Tick(3, 30);
  ASSERT_OK(agent.Send(kStart + absl::Seconds(2)));
  EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "3 C: 30"));
  // The damaged batch is reported once, and then removed.
  for (const bool is_named : {true, false}) {
    const testing::LogCapture log;
    ASSERT_OK(store.Compact());
    EXPECT_THAT(store.Read("web-1"), ElementsAre("1 C: 10", "3 C: 30"));
    const auto named = ::testing::Contains(
        ::testing::HasSubstr("batch 2 of epoch 1 in the log is damaged"));
    if (is_named) {
      EXPECT_THAT(log.Lines(), named);
    } else {
      EXPECT_THAT(log.Lines(), IsEmpty());
    }
    store.Reopen();
  }
  store.Close();
  ASSERT_OK_AND_ASSIGN(const StoreReport report,
                       VerifyStore(store.path(), [](double) {}));
  EXPECT_THAT(report.damage, IsEmpty());
  EXPECT_EQ(report.batches, 0);
}

}  // namespace
}  // namespace fleetperf::aggregator
