// Writes captures, finds them again and plays them.

#include "agent/collect/capture.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "agent/collect/player.h"
#include "agent/source/replay/replay_source.h"
#include "base/os/files.h"
#include "perflib/layout.h"
#include "tests/agent/collect/fake_source.h"
#include "tests/agent/collect/test_countersets.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/support/log_capture.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::FakeSource;
using ::testing::HasSubstr;
using testing::kDiskGuid;
using testing::kSystemGuid;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::Value32;
using testing::Value64;

// A machine whose blocks are captured second by second.
class CapturedMachine {
 public:
  explicit CapturedMachine(const std::string& directory,
                           uint64_t max_bytes = 1 << 20)
      : directory_(directory) {
    source_.Change([this](FakeSource::Script& script) {
      script.end_block = [this](std::string* block) {
        const int64_t time =
            testing::kBlockTime + seconds_ * testing::kBlockFreq;
        std::memcpy(block->data() +
                        offsetof(perflib::PerfDataHeader, perf_time_100nsec),
                    &time, sizeof time);
        return absl::OkStatus();
      };
    });
    auto capture = Capture::Open({.directory = directory,
                                  .max_bytes = max_bytes,
                                  .machine = "web-1",
                                  .operating_system = "Linux 6.1",
                                  .clock = &clock_});
    EXPECT_OK(capture);
    capture_ = *std::move(capture);
  }

  // Opens a query handle for these queries.
  std::unique_ptr<Collector> Open(const std::vector<PlannedQuery>& queries,
                                  const std::vector<InstanceRule>& rules = {}) {
    const Plan plan = {.queries = queries, .rules = rules};
    auto collector = Collector::Open(
        &source_, /*handle_number=*/1,
        ResolvePlan(plan, "web-1", testing::TestRegistrations()).queries,
        &instances_, &warnings_, capture_.get());
    EXPECT_OK(collector);
    return *std::move(collector);
  }

  // Takes a tick `seconds` after the start, with the number of a disk's reads.
  void Tick(Collector& collector, int64_t seconds, uint64_t reads) {
    seconds_ = seconds;
    source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(reads)}}}});
    source_.SetInstances(kSystemGuid, {{"", 0, {{2, Value32(5)}}}});
    BlockSamples samples;
    std::vector<std::string> problems;
    EXPECT_OK(collector.Collect(&samples, &problems));
  }

  testing::SimulatedClock& clock() { return clock_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  const std::string directory_;
  FakeSource source_{testing::TestRegistrations()};
  testing::SimulatedClock clock_;
  Dictionary dictionary_;
  MachineInstances instances_{"web-1", &dictionary_};
  std::unique_ptr<Capture> capture_;
  std::vector<std::string> warnings_;
  int64_t seconds_ = 0;
};

constexpr uint64_t kPage = 4096;

// Returns the disk space of a directory's files in bytes, a multiple of kPage.
// Empty files take no space.
uint64_t DiskBytes(const std::string& directory) {
  uint64_t pages = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) {
      pages += (entry.file_size() + kPage - 1) / kPage;
    }
  }
  return pages * kPage;
}

struct Played {
  absl::Status status;
  std::vector<v1::Batch> batches;
};

// Plays a capture to its end. The aggregator accepts all batches except
// `reject`. `spoil` is called before the first block is played.
Played PlayBatches(
    const std::string& directory, uint64_t reject = 0,
    const std::function<void()>& spoil = [] {}) {
  auto recordings = ReadRecordings(directory);
  if (!recordings.ok()) return {recordings.status(), {}};
  Delivery delivery(
      {.epoch = EpochOf(*recordings, "played"), .blocks_per_batch = 2});
  Played played;
  delivery.SetBatchListener([&] {
    for (v1::Batch& batch : testing::BatchesOf(delivery.spool())) {
      if (batch.sequence() == reject) {
        delivery.spool().Reject({.epoch = kThisProcess, .sequence = reject});
      }
      played.batches.push_back(std::move(batch));
    }
    testing::Acknowledge(delivery.spool(),
                         delivery.spool().open_sequence() - 1);
  });
  auto player = Player::Open(*std::move(recordings),
                             {.machine = "played", .delivery = &delivery});
  if (!player.ok()) return {player.status(), {}};
  spoil();
  played.status = (*player)->Play();
  return played;
}

// Plays a capture to its end. Returns "SECONDS: VALUES" for each tick of each
// query.
std::vector<std::string> Play(const std::string& directory) {
  const Played played = PlayBatches(directory);
  if (played.batches.empty()) return {played.status.ToString()};
  std::vector<std::string> ticks;
  for (const v1::Batch& batch : played.batches) {
    const v1::BatchContent content = testing::ContentOf(batch);
    for (const v1::MachineDefinition& machine :
         content.definitions().machines()) {
      EXPECT_EQ(machine.name(), "played");
    }
    for (const v1::BlockColumns& blocks : content.blocks()) {
      for (const v1::QueryColumns& query : blocks.queries()) {
        if (query.instances().empty()) continue;
        int64_t time = 0;
        uint64_t value = query.columns(0).first(0);
        for (int i = 0; i < blocks.perf_time_100nsec_size(); ++i) {
          time += blocks.perf_time_100nsec(i);
          if (i > 0 && query.columns(0).differences_size() > 0) {
            value += static_cast<uint64_t>(query.columns(0).differences(i - 1));
          }
          ticks.push_back(absl::StrCat(
              (time - testing::kBlockTime) / testing::kBlockFreq, ": ", value));
        }
      }
    }
  }
  return ticks;
}

TEST(Capture, WritesBlocksAndQueries) {
  const testing::TempDirectory directory;
  CapturedMachine machine(directory.path());
  const auto collector =
      machine.Open({{.counterset = "Disk",
                     .counters = {"Reads/sec", "Avg. Bytes/Read"},
                     .instances = {"sd*"},
                     .interval = absl::Seconds(5)}});
  machine.Tick(*collector, 0, 10);
  machine.Tick(*collector, 5, 30);

  const auto recordings = ReadRecordings(directory.path());
  ASSERT_OK(recordings);
  ASSERT_THAT(*recordings, SizeIs(1));
  const v1::Capture& capture = recordings->front().capture;
  EXPECT_EQ(capture.machine(), "web-1");
  EXPECT_EQ(capture.operating_system(), "Linux 6.1");
  EXPECT_EQ(capture.interval().seconds(), 5);
  ASSERT_EQ(capture.queries_size(), 1);
  EXPECT_THAT(capture.queries(0).counter_ids(), ElementsAre(1, 2, 12));
  EXPECT_THAT(capture.queries(0).only_linked(), ElementsAre(12));
  ASSERT_EQ(capture.queries(0).filters_size(), 1);
  EXPECT_THAT(capture.queries(0).filters(0).instances(), ElementsAre("sd*"));
  EXPECT_EQ(capture.identifiers_size(), 3);
  EXPECT_EQ(capture.countersets(0).name(), "Disk");
  ASSERT_THAT(recordings->front().block_paths, SizeIs(2));
  EXPECT_EQ(BlockTime(recordings->front().block_paths[1]) -
                BlockTime(recordings->front().block_paths[0]),
            absl::Seconds(5));
}

TEST(Capture, PlaysWithOriginalTimesUnderAnotherName) {
  const testing::TempDirectory directory;
  {
    CapturedMachine machine(directory.path());
    const auto disks =
        machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
    const auto system = machine.Open({{.counterset = "System",
                                       .counters = {"Threads"},
                                       .interval = absl::Seconds(10)}});
    machine.Tick(*disks, 1, 100);
    machine.Tick(*system, 2, 0);
    machine.Tick(*disks, 3, 130);
  }
  // The agent was restarted.
  CapturedMachine machine(directory.path());
  machine.clock().Advance(absl::Minutes(1));
  const auto disks =
      machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
  machine.Tick(*disks, 60, 7);
  EXPECT_THAT(Play(directory.path()),
              ElementsAre("1: 100", "2: 5", "3: 130", "60: 7"));
}

TEST(Capture, PlaysOnlyTheInstancesOfItsFilters) {
  const testing::TempDirectory directory;
  {
    CapturedMachine machine(directory.path());
    const auto disks = machine.Open(
        {{.counterset = "Disk", .counters = {"id:1"}, .instances = {"x"}},
         {.counterset = "Disk", .counters = {"id:1"}, .instances = {"sd*"}}});
    machine.Tick(*disks, 1, 100);
  }
  EXPECT_THAT(Play(directory.path()), ElementsAre("1: 100"));

  auto recordings = ReadRecordings(directory.path());
  ASSERT_OK(recordings);
  ASSERT_THAT(*recordings, SizeIs(1));
  const std::string& block = recordings->front().block_paths.front();
  const std::string file =
      std::filesystem::path(block).replace_filename("capture.json");
  v1::CapturedQuery& query = *recordings->front().capture.mutable_queries(0);
  const auto play = [&] {
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(
                    recordings->front().capture, &json)
                    .ok());
    EXPECT_OK(WriteFile(file, json));
    return Play(directory.path());
  };
  query.mutable_filters(1)->add_except("sda");
  EXPECT_THAT(play(), ElementsAre());

  query.clear_filters();
  EXPECT_THAT(play(), ElementsAre("1: 100"));
}

// The blocks of Windows hold all instances.
TEST(Capture, PlaysOnlyTheInstancesThatThePlanLets) {
  const std::vector<PlannedQuery> queries = {
      {.counterset = "Disk", .counters = {"id:1"}}};
  const auto play = [&](const InstanceRule& rule) {
    const testing::TempDirectory directory;
    CapturedMachine machine(directory.path());
    machine.Tick(*machine.Open(queries, {rule}), 1, 100);
    return Play(directory.path());
  };
  EXPECT_THAT(play({.counterset = "Disk", .exclude = {"sdb"}}),
              ElementsAre("1: 100"));
  EXPECT_THAT(play({.counterset = "Disk", .exclude = {"sd*"}}), ElementsAre());
  EXPECT_THAT(play({.counterset = "Disk", .include = {"sda"}}),
              ElementsAre("1: 100"));
  EXPECT_THAT(play({.counterset = "Disk", .include = {"sdb"}}), ElementsAre());
}

TEST(Capture, RemovesTheOldestBlocksBeyondItsLimit) {
  const testing::TempDirectory directory;
  // Two capture.json files and ten blocks, all smaller than a page.
  constexpr uint64_t kMaxBytes = 12 * kPage;
  {
    CapturedMachine machine(directory.path(), kMaxBytes);
    const auto disks =
        machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
    const auto system =
        machine.Open({{.counterset = "System", .counters = {"Threads"}}});
    for (int t = 0; t < 50; ++t) {
      machine.Tick(t % 2 == 0 ? *disks : *system, t, 1);
      EXPECT_LE(DiskBytes(directory.path()), kMaxBytes);
    }
    EXPECT_THAT(Play(directory.path()), SizeIs(10));
  }
  // The blocks of the former run are removed first, with their directories.
  CapturedMachine machine(directory.path(), kMaxBytes);
  machine.clock().Advance(absl::Minutes(1));
  const auto collector =
      machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
  for (int t = 50; t < 100; ++t) {
    machine.Tick(*collector, t, 2);
    EXPECT_LE(DiskBytes(directory.path()), kMaxBytes);
  }
  const auto recordings = ReadRecordings(directory.path());
  ASSERT_OK(recordings);
  EXPECT_THAT(*recordings, SizeIs(1));
  const std::vector<std::string> played = Play(directory.path());
  EXPECT_THAT(played, SizeIs(11));
  EXPECT_EQ(played.back(), "99: 2");
}

TEST(Capture, LeavesNoDirectoryWithoutBlocks) {
  const testing::TempDirectory directory;
  CapturedMachine machine(directory.path());
  auto disks =
      machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
  machine.Open({{.counterset = "System", .counters = {"Threads"}}}).reset();
  EXPECT_EQ(DiskBytes(directory.path()),
            kPage);  // capture.json of the open handle
  disks.reset();
  EXPECT_EQ(DiskBytes(directory.path()), 0);
}

TEST(Capture, KeepsForeignFiles) {
  const testing::TempDirectory directory;
  ASSERT_OK(MakeDirectories(directory.File("mine")));
  ASSERT_OK(WriteFile(directory.File("mine/capture.json"), ""));
  ASSERT_OK(WriteFile(directory.File("mine/000000001.block"), ""));
  // A file with the name of a handle's directory.
  const std::string file = "20240101T000000.000Z-1";
  ASSERT_OK(WriteFile(directory.File(file), ""));
  CapturedMachine machine(directory.path(), /*max_bytes=*/1);
  const auto collector =
      machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
  for (int t = 0; t < 3; ++t) machine.Tick(*collector, t, 1);
  // The newest block is kept regardless of the limit.
  EXPECT_EQ(DiskBytes(directory.path()), 2 * kPage);
  EXPECT_TRUE(std::filesystem::exists(directory.File("mine/capture.json")));
  EXPECT_TRUE(std::filesystem::exists(directory.File(file)));
  EXPECT_TRUE(std::filesystem::exists(directory.File("mine/000000001.block")));
}

TEST(Capture, SkipsUnwritableBlocks) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("capture");
  CapturedMachine machine(path);
  std::filesystem::remove(path);
  ASSERT_OK(WriteFile(path, "no directory any more"));
  const auto collector =
      machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
  EXPECT_THAT(machine.warnings(),
              ElementsAre(HasSubstr("the blocks are not captured: ")));
  machine.Tick(*collector, 0, 1);
}

TEST(Capture, PlaysTheBlocksAroundADamagedOne) {
  const testing::TempDirectory directory;
  CapturedMachine machine(directory.path());
  const auto collector =
      machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
  for (int t = 0; t < 3; ++t) machine.Tick(*collector, t, 10);
  const auto recordings = ReadRecordings(directory.path());
  ASSERT_OK(recordings);
  std::filesystem::resize_file(recordings->front().block_paths[1], 20);
  EXPECT_THAT(Play(directory.path()), ElementsAre("0: 10", "2: 10"));
}

class PlayerTest : public ::testing::Test {
 protected:
  // Captures this many ticks of a disk.
  void Capture(int ticks) {
    const auto collector =
        machine_.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
    for (int t = 0; t < ticks; ++t) machine_.Tick(*collector, t, 10);
  }

  std::string Directory() const { return directory_.path(); }
  std::string BlockPath(size_t block) const {
    return ReadRecordings(Directory())->front().block_paths[block];
  }
  uint64_t Epoch(const std::string& machine = "played") const {
    return EpochOf(*ReadRecordings(Directory()), machine);
  }

 private:
  const testing::TempDirectory directory_;
  CapturedMachine machine_{directory_.path()};
};

TEST_F(PlayerTest, SucceedsWhenAllBlocksAreStored) {
  Capture(3);
  EXPECT_OK(PlayBatches(Directory()).status);
}

TEST_F(PlayerTest, CountsAndNamesUnreadableBlocks) {
  Capture(4);
  const testing::LogCapture log;
  std::filesystem::resize_file(BlockPath(0), 20);
  std::filesystem::resize_file(BlockPath(1), 21);
  std::string bytes = *ReadFile(BlockPath(2));
  bytes[sizeof(perflib::PerfDataHeader) +
        offsetof(perflib::PerfCounterHeader, type)] = 9;  // no such type
  ASSERT_OK(WriteFile(BlockPath(2), bytes));
  const std::string lost = BlockPath(3);
  const auto remove = [&] { std::filesystem::remove(lost); };
  EXPECT_THAT(PlayBatches(Directory(), /*reject=*/0, remove).status,
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("stored 1 of 4 blocks as played: 3 could not "
                                 "be read, 1 could be read only in part; ")));
  EXPECT_THAT(log.Lines(),
              ElementsAre(HasSubstr(BlockPath(0)), HasSubstr(BlockPath(1)),
                          HasSubstr(BlockPath(2)), HasSubstr(lost)));
}

TEST_F(PlayerTest, CountsTheBlocksOfRejectedBatches) {
  Capture(5);
  EXPECT_THAT(PlayBatches(Directory(), /*reject=*/2).status,
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("stored 3 of 5 blocks as played: 2 were in "
                                 "batches that the aggregator rejected")));
}

TEST_F(PlayerTest, ReportsAnIncompletePlayWhenStopped) {
  Capture(3);
  Delivery delivery({.epoch = 1});  // without an aggregator
  const auto player =
      Player::Open(*ReadRecordings(Directory()),
                   {.machine = "played", .delivery = &delivery});
  ASSERT_OK(player);
  delivery.SetBatchListener([&] { (*player)->Stop(); });
  EXPECT_THAT((*player)->Play(),
              StatusIs(absl::StatusCode::kCancelled,
                       HasSubstr("stopped after 1 of 3 blocks")));
}

TEST_F(PlayerTest, MakesTheSameBatchesEachTime) {
  Capture(7);
  const std::vector<v1::Batch> batches = PlayBatches(Directory()).batches;
  const std::vector<v1::Batch> again = PlayBatches(Directory()).batches;
  ASSERT_THAT(batches, SizeIs(4));
  ASSERT_THAT(again, SizeIs(4));
  for (size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ(batches[i].SerializeAsString(), again[i].SerializeAsString());
  }
}

TEST_F(PlayerTest, DerivesTheEpochFromTheContents) {
  Capture(3);
  const uint64_t epoch = Epoch();
  EXPECT_NE(epoch, Epoch("other"));
  const testing::TempDirectory elsewhere;
  std::filesystem::copy(Directory(), elsewhere.path(),
                        std::filesystem::copy_options::recursive);
  EXPECT_EQ(epoch, EpochOf(*ReadRecordings(elsewhere.path()), "played"));

  auto recordings = ReadRecordings(Directory());
  ASSERT_OK(recordings);
  recordings->front().capture.mutable_queries(0)->set_wrap32(true);
  EXPECT_NE(epoch, EpochOf(*recordings, "played"));
  const std::string block = BlockPath(1);
  std::string bytes = *ReadFile(block);
  bytes.back() ^= 1;
  ASSERT_OK(WriteFile(block, bytes));
  EXPECT_NE(epoch, Epoch());
  bytes.back() ^= 1;
  ASSERT_OK(WriteFile(block, bytes));
  EXPECT_EQ(epoch, Epoch());
  std::filesystem::remove(block);
  EXPECT_NE(epoch, Epoch());
}

TEST(ReadRecordings, ReportsInvalidRecordings) {
  const testing::TempDirectory directory;
  EXPECT_THAT(ReadRecordings(directory.path()),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("there is no capture in")));
  EXPECT_THAT(
      ReadRecordings("/no/such"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("cannot list /no/such")));
  ASSERT_OK(MakeDirectories(directory.File("1")));
  const std::string path = directory.File("1/capture.json");
  ASSERT_OK(WriteFile(path, "{\"machine\": 5"));
  EXPECT_THAT(ReadRecordings(directory.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(path + " is not a capture")));
  ASSERT_OK(WriteFile(path, "{\"countersets\": [{\"guid\": \"YWJj\"}]}"));
  EXPECT_THAT(ReadRecordings(directory.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("guid has 3 bytes")));
}

TEST(Player, RejectsInconsistentCaptures) {
  const struct {
    const char* name;
    void (*spoil)(v1::Capture* capture);
    const char* error;
  } kCases[] = {
      {"no queries", [](v1::Capture* c) { c->clear_queries(); },
       "has no queries"},
      {"a counter that is none",
       [](v1::Capture* c) { c->mutable_queries(0)->add_counter_ids(99); },
       "lacks counter 99 of counterset \"Disk\""},
      {"no registration", [](v1::Capture* c) { c->clear_countersets(); },
       "lacks the registration"},
      {"no interval", [](v1::Capture* c) { c->clear_interval(); },
       "has an invalid interval: 0 is too short"},
      {"an interval of days",
       [](v1::Capture* c) { c->mutable_interval()->set_seconds(86'401); },
       "has an invalid interval: 24h1s is too long"},
      {"a query for nothing",
       [](v1::Capture* c) { c->mutable_queries(0)->clear_counter_ids(); },
       "has a query without counters"},
      {"a counter twice",
       [](v1::Capture* c) { c->mutable_queries(0)->add_counter_ids(1); },
       "asks for counter 1 twice"},
      {"an index beyond the queries",
       [](v1::Capture* c) { c->mutable_identifiers(0)->set_index(7); },
       "returned Index 7"},
  };
  const testing::TempDirectory directory;
  CapturedMachine machine(directory.path());
  const auto collector =
      machine.Open({{.counterset = "Disk", .counters = {"Reads/sec"}}});
  machine.Tick(*collector, 0, 10);
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    auto recordings = ReadRecordings(directory.path());
    ASSERT_OK(recordings);
    test.spoil(&recordings->front().capture);
    Delivery delivery({.epoch = 1});
    EXPECT_THAT(
        Player::Open(*recordings, {.machine = "x", .delivery = &delivery})
            .status()
            .ToString(),
        HasSubstr(test.error));
  }
}

}  // namespace
}  // namespace fleetperf::agent
