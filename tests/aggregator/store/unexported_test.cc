// An export takes every sample of a store, in order, whatever happens to the
// store between its reads. It takes samples again only if their progress was
// not stored.

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/store/store.h"
#include "tests/aggregator/store/random_fleet.h"
#include "tests/support/one_disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;
using testing::OneDiskAgent;
using testing::RandomFleet;
using testing::StatusIs;
using testing::TestStore;

// Samples of each instance and query: "10: 5".
using Samples = std::map<std::string, std::vector<std::string>>;

void Add(const Frame& frame, uint32_t begin, uint32_t end, Samples* samples) {
  for (size_t i = 0; i < frame.runs.size(); ++i) {
    const Frame::Run& run = frame.runs[i];
    for (uint32_t tick = 0; tick < run.tick_count; ++tick) {
      const uint32_t of_frame = run.first_tick + tick;
      if (of_frame < begin || of_frame >= end) continue;
      const bool is_missing = frame.columns[0].IsMissing(run.begin + tick);
      const perflib::Clocks& clocks = (*frame.clocks)[of_frame];
      (*samples)[absl::StrCat(frame.query->schema->registration.name, " ",
                              run.instance->life)]
          .push_back(absl::StrFormat(
              "%d: %s", clocks.perf_time_stamp,
              is_missing
                  ? "-"
                  : absl::StrCat(frame.Value(frame.columns[0], i, tick))));
    }
  }
}

// Describes where the samples taken differ from all samples.
std::string Difference(const std::vector<std::string>& taken,
                       const std::vector<std::string>& all) {
  const auto [one, other] =
      std::mismatch(taken.begin(), taken.end(), all.begin(), all.end());
  if (one == taken.end() && other == all.end()) return "";
  return absl::StrCat("after ", one - taken.begin(), " samples, ",
                      one != taken.end() ? *one : "nothing", " instead of ",
                      other != all.end() ? *other : "nothing", "; ",
                      taken.size(), " samples instead of ", all.size());
}

// Takes samples, up to a number of calls of AddTicks.
class Taker : public UnexportedSink {
 public:
  explicit Taker(Samples* samples, int parts = INT32_MAX)
      : samples_(*samples), parts_(parts) {}

  void Begin(absl::Time received, uint64_t lost_values) override {
    oldest = received;
    lost = lost_values;
  }
  absl::Status BeginFrame(const Frame& frame, uint32_t first_new) override {
    frame_ = &frame;
    next_ = first_new;
    Add(frame, 0, first_new, &older);
    return absl::OkStatus();
  }
  absl::Status AddTicks(uint32_t begin, uint32_t end) override {
    if (parts_-- == 0) return absl::AbortedError("enough");
    EXPECT_EQ(begin, next_);
    EXPECT_LT(begin, end);
    next_ = end;
    Add(*frame_, begin, end, &pending_);
    return absl::OkStatus();
  }
  void Advance(ExportProgress to) override {
    progress.push_back(std::move(to));
    for (auto& [name, ticks] : pending_) {
      std::vector<std::string>& all = samples_[name];
      all.insert(all.end(), ticks.begin(), ticks.end());
    }
    pending_.clear();
  }

  absl::Time oldest = absl::InfiniteFuture();
  uint64_t lost = 0;
  Samples older;
  std::vector<ExportProgress> progress;

 private:
  Samples& samples_;
  int parts_;
  const Frame* frame_ = nullptr;
  uint32_t next_ = 0;
  Samples pending_;  // since the last progress
};

UnexportedRequest RequestOf(const std::string& machine) {
  return {.machine = machine, .intervals = {absl::Seconds(1)}};
}

// Returns everything that was not exported, and stores the progress.
std::vector<std::string> TakeAll(TestStore& store, const std::string& machine) {
  Samples samples;
  Taker taker(&samples);
  EXPECT_OK(store->ReadUnexported(RequestOf(machine), &taker));
  EXPECT_OK(store->SetExported(taker.progress));
  std::vector<std::string> all;
  for (const auto& [name, ticks] : samples) {
    for (const std::string& tick : ticks) {
      all.push_back(tick.substr(tick.find(": ") + 2));
    }
  }
  return all;
}

TEST(Unexported, IsTakenOnceWhateverHappens) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    TestStore store(seed % 2 == 0 ? 0 : uint64_t{256} << 10);
    ASSERT_OK(store->KeepExportCursors(true));
    RandomFleet fleet(&store, seed);
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t limit) { return random() % limit; };
    std::map<std::string, Samples> taken;
    for (int step = 0; step < 300; ++step) {
      fleet.Step();
      if (below(40) == 0) {
        ASSERT_OK(store.Compact(fleet.received() - absl::Minutes(5)));
      }
      if (below(100) == 0) {
        store.Reopen();
        ASSERT_OK(store->KeepExportCursors(true));
      }
      // Long absences of the engine, and short ones.
      if (step / 60 % 2 == 1 || below(4) != 0) continue;
      const std::string machine = RandomFleet::kMachines[below(2)];
      Taker taker(&taken[machine], below(2) == 0 ? INT32_MAX : below(5));
      const absl::Status status =
          store->ReadUnexported(RequestOf(machine), &taker);
      ASSERT_TRUE(status.ok() || absl::IsAborted(status)) << status;
      // Chunks move while the engine answers.
      if (below(10) == 0) {
        ASSERT_OK(store.Compact(fleet.received() - absl::Minutes(5)));
      }
      ASSERT_OK(store->SetExported(taker.progress));
    }
    for (const std::string machine : RandomFleet::kMachines) {
      Taker rest(&taken[machine]);
      ASSERT_OK(store->ReadUnexported(RequestOf(machine), &rest));
      ASSERT_OK(store->SetExported(rest.progress));
      EXPECT_EQ(rest.lost, 0);
      EXPECT_THAT(TakeAll(store, machine), IsEmpty());
      Samples all;
      ASSERT_OK(store->Read(
          {.machine = machine,
           .from = absl::InfinitePast(),
           .to = absl::InfiniteFuture(),
           .filter = {}},
          [&](const Frame& frame) {
            Add(frame, 0, static_cast<uint32_t>(frame.clocks->size()), &all);
            return absl::OkStatus();
          },
          [](const Loss&) {}));
      ASSERT_EQ(taken[machine].size(), all.size());
      for (const auto& [name, ticks] : all) {
        ASSERT_EQ(Difference(taken[machine][name], ticks), "") << name;
      }
    }
  }
}

TEST(Unexported, ComesAgainUntilItsProgressIsStored) {
  for (const bool compacts : {false, true}) {
    TestStore store;
    ASSERT_OK(store->KeepExportCursors(true));
    OneDiskAgent agent(&store, "web-1");
    for (const int t : {1, 2, 3}) {
      agent.Tick(t, static_cast<uint64_t>(10 * t));
      ASSERT_OK(agent.Send(kStart + absl::Seconds(t)));
    }
    Samples samples;
    Taker crashed(&samples);
    ASSERT_OK(store->ReadUnexported(RequestOf("web-1"), &crashed));
    EXPECT_EQ(crashed.oldest, kStart + absl::Seconds(1));
    ASSERT_EQ(crashed.progress.size(), 3);  // of a batch each
    if (compacts) {
      ASSERT_OK(store.Compact());
    }
    // The stored part of the progress survives.
    ASSERT_OK(store->SetExported({crashed.progress[0]}));
    store.Reopen();
    ASSERT_OK(store->KeepExportCursors(true));
    EXPECT_THAT(TakeAll(store, "web-1"), ElementsAre("20", "30"));
    EXPECT_THAT(TakeAll(store, "web-1"), IsEmpty());
    store.Reopen();
    ASSERT_OK(store->KeepExportCursors(true));
    EXPECT_THAT(TakeAll(store, "web-1"), IsEmpty());
  }
}

TEST(Unexported, IsFoundWhateverItsTimeAndEpoch) {
  TestStore store;
  ASSERT_OK(store->KeepExportCursors(true));
  OneDiskAgent agent(&store, "web-1", 1);
  agent.Tick(100'000, 1);
  ASSERT_OK(agent.Send(kStart));
  EXPECT_THAT(TakeAll(store, "web-1"), ElementsAre("1"));
  // The clock was set back, and the epoch before has batches left.
  OneDiskAgent next(&store, "web-1", 2);
  next.Tick(50'000, 2);
  ASSERT_OK(next.Send(kStart));
  EXPECT_THAT(TakeAll(store, "web-1"), ElementsAre("2"));
  agent.Tick(3, 3);
  ASSERT_OK(agent.Send(kStart));
  ASSERT_OK(store.Compact());
  next.Tick(2, 4);
  ASSERT_OK(next.Send(kStart));
  EXPECT_THAT(TakeAll(store, "web-1"), ElementsAre("3", "4"));
}

TEST(Unexported, BeginsWithTheTicksBefore) {
  for (const uint64_t recent : {0, 1 << 20}) {
    TestStore store(recent);
    ASSERT_OK(store->KeepExportCursors(true));
    OneDiskAgent agent(&store, "web-1");
    for (int t = 1; t <= 20; ++t) {
      agent.Tick(t, static_cast<uint64_t>(t));
      ASSERT_OK(agent.Send(kStart + absl::Seconds(t)));
      if (t == 10) {
        ASSERT_OK(store.Compact());
      }
      Samples samples;
      Taker taker(&samples);
      ASSERT_OK(store->ReadUnexported(RequestOf("web-1"), &taker));
      ASSERT_OK(store->SetExported(taker.progress));
      ASSERT_EQ(samples.size(), 1);
      if (t == 1) continue;
      ASSERT_EQ(taker.older.size(), 1) << t;
      EXPECT_THAT(taker.older.begin()->second.back(),
                  ::testing::EndsWith(absl::StrCat(": ", t - 1)));
    }
  }
}

// Chunks are listed if they are made before progress is stored.
TEST(Unexported, BeginsWithTheTicksAfterAListedChunk) {
  for (const uint64_t recent : {0, 1 << 20}) {
    for (const bool compacts_all : {false, true}) {
      SCOPED_TRACE(absl::StrCat(recent, " ", compacts_all));
      TestStore store(recent);
      ASSERT_OK(store->KeepExportCursors(true));
      OneDiskAgent agent(&store, "web-1");
      const absl::Time later = kStart + absl::Hours(2);
      agent.Tick(1, 1);
      ASSERT_OK(agent.Send(kStart));
      agent.Tick(7200, 2);
      ASSERT_OK(agent.Send(later));
      Samples samples;
      Taker first(&samples);
      ASSERT_OK(store->ReadUnexported(RequestOf("web-1"), &first));
      ASSERT_OK(store.Compact(kStart));  // the first batch
      ASSERT_OK(store->SetExported(first.progress));
      if (compacts_all) {
        ASSERT_OK(store.Compact());
      }
      agent.Tick(7201, 3);
      ASSERT_OK(agent.Send(later));
      samples.clear();
      Taker next(&samples);
      ASSERT_OK(store->ReadUnexported(RequestOf("web-1"), &next));
      ASSERT_EQ(samples.size(), 1);
      EXPECT_THAT(samples.begin()->second,
                  ElementsAre(::testing::EndsWith(": 3")));
      ASSERT_EQ(next.older.size(), 1);
      EXPECT_THAT(next.older.begin()->second.back(),
                  ::testing::EndsWith(": 2"));
    }
  }
}

TEST(Unexported, ThatIsRemovedIsCounted) {
  TestStore store;
  ASSERT_OK(store->KeepExportCursors(true));
  OneDiskAgent agent(&store, "web-1");
  agent.Tick(1, 10);
  ASSERT_OK(agent.Send(kStart));
  ASSERT_OK(store.Compact());
  ASSERT_OK(store->DropBefore(kStart + absl::Hours(5)));
  agent.Tick(2, 20);
  ASSERT_OK(agent.Send(kStart + absl::Hours(5)));
  Samples samples;
  Taker taker(&samples);
  ASSERT_OK(store->ReadUnexported(RequestOf("web-1"), &taker));
  ASSERT_OK(store->SetExported(taker.progress));
  EXPECT_EQ(taker.lost, 1);
  EXPECT_THAT(samples, ::testing::SizeIs(1));
  agent.Tick(3, 30);
  ASSERT_OK(agent.Send(kStart + absl::Hours(5)));
  Taker next(&samples);
  ASSERT_OK(store->ReadUnexported(RequestOf("web-1"), &next));
  EXPECT_EQ(next.lost, 0);
}

TEST(Unexported, BeginsWhenTheStoreKeepsCursors) {
  TestStore store;
  OneDiskAgent agent(&store, "web-1");
  agent.Tick(1, 10);
  ASSERT_OK(agent.Send(kStart));
  ASSERT_OK(store.Compact());
  ASSERT_OK(store->KeepExportCursors(true));
  agent.Tick(2, 20);
  ASSERT_OK(agent.Send(kStart));
  EXPECT_THAT(TakeAll(store, "web-1"), ElementsAre("20"));
  agent.Tick(3, 30);
  ASSERT_OK(agent.Send(kStart));
  ASSERT_OK(store.Compact());
  ASSERT_OK(store->KeepExportCursors(false));
  ASSERT_OK(store->KeepExportCursors(true));
  EXPECT_THAT(TakeAll(store, "web-1"), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::aggregator
