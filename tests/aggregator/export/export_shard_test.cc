#include "aggregator/export/export_shard.h"

#include <snappy.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/disk_agent.h"
#include "tests/support/http_server.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskAgent;
using testing::HttpServer;
using testing::SimulatedClock;
using testing::TestStore;

constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr absl::Duration kRetryAfter = absl::Seconds(20);

std::string Uncompress(const std::string& body) {
  std::string text;
  EXPECT_TRUE(snappy::Uncompress(body.data(), body.size(), &text));
  return text;
}

constexpr absl::string_view kMarker("\x02\x00\x00\x00\x00\x00\xF0\x7F", 8);

bool HasEnd(const std::string& body) {
  return absl::StrContains(Uncompress(body), kMarker);
}

// Returns the times of the staleness markers in a request, in milliseconds
// after kStart. A varint with the tag 0x10 follows each marker.
std::vector<int64_t> EndTimes(const std::string& body) {
  std::vector<int64_t> times;
  const std::string uncompressed = Uncompress(body);
  const absl::string_view text = uncompressed;
  for (size_t at = text.find(kMarker); at != text.npos;
       at = text.find(kMarker, at + 1)) {
    int64_t millis = 0;
    size_t next = at + kMarker.size() + 1;
    for (int shift = 0;; shift += 7, ++next) {
      const auto byte = static_cast<unsigned char>(text[next]);
      millis |= int64_t{byte & 0x7F} << shift;
      if (byte < 0x80) break;
    }
    times.push_back(millis - absl::ToUnixMillis(testing::kStart));
  }
  return times;
}

// If it is slow, its clock goes on for a minute after each batch that is read.
// The first writes of progress fail.
class TroubledStore : public testing::StoreWrapper {
 public:
  TroubledStore(Store* store, SimulatedClock* clock)
      : StoreWrapper(store), clock_(*clock) {}

  absl::Status ReadUnexported(const UnexportedRequest& request,
                              UnexportedSink* sink) override {
    Sink slow(sink, is_slow ? &clock_ : nullptr);
    return StoreWrapper::ReadUnexported(request, &slow);
  }
  absl::Status SetExported(absl::Span<const ExportProgress> progress) override {
    if (failing_writes > 0) {
      --failing_writes;
      return absl::ResourceExhaustedError("full");
    }
    return StoreWrapper::SetExported(progress);
  }

  bool is_slow = false;
  int failing_writes = 0;

 private:
  class Sink : public UnexportedSink {
   public:
    Sink(UnexportedSink* sink, SimulatedClock* clock)
        : sink_(*sink), clock_(clock) {}
    void Begin(absl::Time received, uint64_t lost) override {
      sink_.Begin(received, lost);
    }
    absl::Status BeginFrame(const Frame& frame, uint32_t first_new) override {
      return sink_.BeginFrame(frame, first_new);
    }
    absl::Status AddTicks(uint32_t begin, uint32_t end) override {
      return sink_.AddTicks(begin, end);
    }
    void Advance(ExportProgress progress) override {
      if (clock_ != nullptr) clock_->Advance(absl::Minutes(1));
      sink_.Advance(std::move(progress));
    }

   private:
    UnexportedSink& sink_;
    SimulatedClock* const clock_;
  };

  SimulatedClock& clock_;
};

class ExportShardTest : public ::testing::Test {
 protected:
  ExportShardTest() { EXPECT_OK(store_->KeepExportCursors(true)); }

  void Start(bool raw = false) {
    shard_ = std::make_unique<ExportShard>(
        ExportShard::Options{.target = {.url = server_.url()},
                             .raw = raw,
                             .interval = kInterval,
                             .machines = {.aggregator = "agg-1",
                                          .copied_labels = {"role"},
                                          .expected =
                                              [this] {
                                                absl::MutexLock lock(&mutex_);
                                                return expected_;
                                              }},
                             .samples_of_turn = samples_of_turn_},
        &troubled_, &clock_);
  }
  // Adds a tick, whose batch is received now.
  void AddTick(int tick) {
    agent_.Ticks(tick, tick, {{disk_, 5}});
    EXPECT_OK(agent_.Send(clock_.Now()));
  }

  SimulatedClock clock_{SimulatedClock::Waits::kSimulated};
  TestStore store_;
  TroubledStore troubled_{&*store_, &clock_};
  DiskAgent agent_{&store_};
  const uint32_t disk_ = agent_.Disk("C:");
  HttpServer server_;
  uint64_t samples_of_turn_ = 1'000'000;
  absl::Mutex mutex_;
  std::set<std::string> expected_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ExportShard> shard_;
};

TEST_F(ExportShardTest, SendsAgainUntilTheEngineHasTheSamples) {
  for (int i = 0; i < 2; ++i) {
    server_.Answer({.status = 503, .headers = {"Retry-After: 20"}});
  }
  AddTick(1);
  AddTick(2);
  Start();
  for (uint64_t failures = 1; failures <= 2; ++failures) {
    clock_.AwaitWaiting(kRetryAfter);
    const ExportCounts counts = shard_->counts();
    EXPECT_EQ(counts.failures, failures);
    EXPECT_EQ(counts.samples, 0);
    EXPECT_EQ(counts.lag, kRetryAfter * (failures - 1));
    clock_.Advance(kRetryAfter);
  }
  clock_.AwaitWaiting(kInterval);
  // Two queue lengths, a rate, and the info of the machine at both ticks.
  EXPECT_EQ(shard_->counts().samples, 5);
  EXPECT_EQ(shard_->counts().requests, 1);
  EXPECT_EQ(shard_->counts().lag, absl::ZeroDuration());
  auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3);
  EXPECT_EQ(Uncompress(requests[0].body), Uncompress(requests[2].body));
  // A new process sends only what is new.
  shard_.reset();
  AddTick(3);
  Start();
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(shard_->counts().samples, 3);
  EXPECT_EQ(server_.requests().size(), 4);
}

TEST_F(ExportShardTest, SendsRawSeriesIfAskedTo) {
  AddTick(1);
  Start(/*raw=*/true);
  clock_.AwaitWaiting(kInterval);
  // A queue length; then both counters, the presence, three clocks and the
  // epoch; then the info.
  EXPECT_EQ(shard_->counts().samples, 1 + 7 + 1);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 1);
  EXPECT_TRUE(absl::StrContains(Uncompress(requests[0].body),
                                "fleetperf_disk_tick_epoch_raw"));
}

TEST_F(ExportShardTest, RefusedSamplesDoNotHoldUpLaterOnes) {
  // Both series, then each.
  for (int i = 0; i < 3; ++i) server_.Answer({.status = 400});
  AddTick(1);
  Start();
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(shard_->counts().refused, 2);
  AddTick(2);
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(shard_->counts().samples, 3);
  EXPECT_EQ(shard_->counts().failures, 0);
}

TEST_F(ExportShardTest, OneRefusedSeriesDropsNoOther) {
  DiskAgent other(&store_, "web-2");
  other.Ticks(1, 1, {{other.Disk("C:"), 5}, {other.Disk("D:"), 6}});
  EXPECT_OK(other.Send(clock_.Now()));
  AddTick(1);
  // All; web-1; web-2; one of its disks, and the other one with the info.
  for (const int status : {400, 204, 400, 400, 204}) {
    server_.Answer({.status = status});
  }
  Start();
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(server_.requests().size(), 5);
  EXPECT_EQ(shard_->counts().refused, 1);
  EXPECT_EQ(shard_->counts().samples, 4);
  EXPECT_EQ(shard_->counts().requests, 2);
  // The refused sample is not sent again.
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(server_.requests().size(), 5);
}

TEST_F(ExportShardTest, MachinesOvertakeOneThatTheEngineFailsWith) {
  DiskAgent other(&store_, "web-2");
  const uint32_t disk = other.Disk("C:");
  other.Ticks(1, 1, {{disk, 5}});
  EXPECT_OK(other.Send(clock_.Now()));
  AddTick(1);
  // Both; web-1, which fails again, and web-2; web-1.
  for (const int status : {500, 500, 204, 204}) {
    server_.Answer({.status = status, .headers = {"Retry-After: 20"}});
  }
  Start();
  clock_.AwaitWaiting(kRetryAfter);
  clock_.Advance(kRetryAfter);
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(shard_->counts().failures, 2);
  EXPECT_EQ(shard_->counts().samples, 2);
  EXPECT_EQ(shard_->counts().lag, kRetryAfter);
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(shard_->counts().samples, 4);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 4);
  EXPECT_EQ(requests[1].body, requests[3].body);
}

TEST_F(ExportShardTest, MachinesTakeTurns) {
  DiskAgent other(&store_, "web-2");
  other.Ticks(1, 1, {{other.Disk("C:"), 5}});
  EXPECT_OK(other.Send(clock_.Now()));
  AddTick(1);
  AddTick(2);
  AddTick(3);
  troubled_.is_slow = true;
  Start();
  clock_.AwaitWaiting(kInterval);
  // A queue length of each machine, then the other ticks of web-1 one by one;
  // the info is at each tick.
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3);
  EXPECT_TRUE(absl::StrContains(Uncompress(requests[0].body), "web-2"));
  EXPECT_EQ(shard_->counts().samples, 2 + 2 + 2 + 4);
  EXPECT_EQ(shard_->counts().lag, absl::ZeroDuration());
  EXPECT_EQ(shard_->counts().failures, 0);
}

TEST_F(ExportShardTest, MachinesWithManySamplesTakeTurns) {
  DiskAgent other(&store_, "web-2");
  other.Ticks(1, 1, {{other.Disk("C:"), 5}});
  EXPECT_OK(other.Send(clock_.Now()));
  for (const int tick : {1, 2, 3, 4}) AddTick(tick);
  samples_of_turn_ = 3;
  Start();
  clock_.AwaitWaiting(kInterval);
  // A turn ends with the batch that reaches the bound: 1 + 2 samples of web-1,
  // which are those of two ticks.
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2);
  const std::string first = Uncompress(requests[0].body);
  EXPECT_TRUE(absl::StrContains(first, "web-1"));
  EXPECT_TRUE(absl::StrContains(first, "web-2"));
  EXPECT_FALSE(absl::StrContains(Uncompress(requests[1].body), "web-2"));
  // The info is at the first tick of each machine, and at the end of each turn.
  EXPECT_EQ(shard_->counts().samples, 3 + 1 + 4 + 4);
  EXPECT_EQ(shard_->counts().failures, 0);
}

TEST_F(ExportShardTest, MarkersAreJustAfterTheLastTickOfTheirQuery) {
  AddTick(3);
  const uint32_t memory = agent_.Counterset(testing::MemoryRegistration());
  const uint32_t query =
      agent_.Query(agent_.machine_id, memory, absl::Seconds(10),
                   {{testing::kAvailableBytes}});
  agent_.AddTick(query, testing::ClocksAt(1.5),
                 {{agent_.Instance(agent_.machine_id, memory), {7}}});
  ASSERT_OK(agent_.Send(clock_.Now()));
  Start();
  clock_.AwaitWaiting(kInterval);
  clock_.Advance(absl::Minutes(6));
  clock_.AwaitWaiting(kInterval);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2);
  // Two counters of the disk, one of the memory, and the info.
  EXPECT_THAT(EndTimes(requests[1].body),
              ::testing::UnorderedElementsAre(3001, 3001, 1501, 3001));
}

TEST_F(ExportShardTest, SamplesAreNotSentAgainIfOnlyTheirProgressIsNotStored) {
  troubled_.failing_writes = 3;
  AddTick(1);
  Start();
  const auto advance_while = [&](const auto& condition) {
    while (condition(shard_->counts())) clock_.Advance(absl::Seconds(1));
  };
  advance_while([](const ExportCounts& counts) { return counts.failures < 3; });
  advance_while([](const ExportCounts& counts) {
    return counts.lag > absl::ZeroDuration();
  });
  const auto requests = server_.requests();
  EXPECT_FALSE(HasEnd(requests[0].body));
  // Perhaps the machine counts as silent by now.
  for (size_t i = 1; i < requests.size(); ++i) {
    EXPECT_TRUE(HasEnd(requests[i].body));
  }
}

// Expected machines have a series from the start, and until they are no longer
// expected, whether an agent is connected or not.
TEST_F(ExportShardTest, ExpectedMachinesHaveASeriesWhileTheyAreExpected) {
  const auto expect = [&](std::set<std::string> machines) {
    absl::MutexLock lock(&mutex_);
    expected_ = std::move(machines);
  };
  expect({"web-7", "web-8"});
  Start();
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(shard_->counts().samples, 2);
  expect({"web-8"});
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  expect({});
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3);
  const std::string both = Uncompress(requests[0].body);
  for (const absl::string_view text : {"fleetperf_machine_expected", "web-7",
                                       "web-8", "aggregator", "agg-1"}) {
    EXPECT_TRUE(absl::StrContains(both, text)) << text;
  }
  EXPECT_FALSE(HasEnd(requests[0].body));
  const std::string first_ends = Uncompress(requests[1].body);
  EXPECT_TRUE(absl::StrContains(first_ends, "web-7"));
  EXPECT_TRUE(absl::StrContains(first_ends, "web-8"));
  EXPECT_THAT(EndTimes(requests[1].body), ::testing::SizeIs(1));
  const std::string last_ends = Uncompress(requests[2].body);
  EXPECT_FALSE(absl::StrContains(last_ends, "web-7"));
  EXPECT_TRUE(absl::StrContains(last_ends, "web-8"));
  EXPECT_THAT(EndTimes(requests[2].body), ::testing::SizeIs(1));
}

TEST_F(ExportShardTest, SeriesEndWithTheirLabels) {
  AddTick(1);
  Start();
  clock_.AwaitWaiting(kInterval);
  store_->SetLabelRules(LabelRules(
      {{.machines = {perflib::Pattern("*")}, .labels = {{"role", "db"}}}}));
  AddTick(2);
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3);
  EXPECT_TRUE(HasEnd(requests[1].body));
  EXPECT_FALSE(absl::StrContains(Uncompress(requests[1].body), "role"));
  EXPECT_FALSE(HasEnd(requests[2].body));
  EXPECT_TRUE(absl::StrContains(Uncompress(requests[2].body), "role"));
}

// Only fleetperf_machine_info has labels that are not copied.
TEST_F(ExportShardTest, SeriesGoOnWhenOtherLabelsChange) {
  const auto set_rack = [&](const std::string& rack) {
    store_->SetLabelRules(LabelRules(
        {{.machines = {perflib::Pattern("*")}, .labels = {{"rack", rack}}}}));
  };
  set_rack("r1");
  AddTick(1);
  Start();
  clock_.AwaitWaiting(kInterval);
  set_rack("r2");
  AddTick(2);
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 3);
  const std::string first = Uncompress(requests[0].body);
  EXPECT_TRUE(absl::StrContains(first, "fleetperf_machine_info"));
  EXPECT_TRUE(absl::StrContains(first, "r1"));
  EXPECT_FALSE(HasEnd(requests[0].body));
  EXPECT_TRUE(absl::StrContains(Uncompress(requests[1].body), "r1"));
  EXPECT_THAT(EndTimes(requests[1].body), ::testing::ElementsAre(1001));
  EXPECT_TRUE(absl::StrContains(Uncompress(requests[2].body), "r2"));
  EXPECT_FALSE(HasEnd(requests[2].body));
}

// So that values of earlier times, too, can be joined with it.
TEST_F(ExportShardTest, InfoHasASampleForEachMinute) {
  agent_.Ticks(1, 301, {{disk_, 5}});
  ASSERT_OK(agent_.Send(clock_.Now()));
  Start();
  clock_.AwaitWaiting(kInterval);
  // 301 queue lengths and 300 rates; the info at 1, 61, ..., 301 s.
  EXPECT_EQ(shard_->counts().samples, 301 + 300 + 6);
  agent_.Ticks(302, 303, {{disk_, 5}});
  ASSERT_OK(agent_.Send(clock_.Now()));
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(shard_->counts().samples, 301 + 300 + 6 + 4 + 1);
}

TEST_F(ExportShardTest, SeriesOfASilentMachineEnd) {
  AddTick(1);
  Start();
  clock_.AwaitWaiting(kInterval);
  clock_.Advance(absl::Minutes(5));
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(server_.requests().size(), 1);
  clock_.Advance(absl::Minutes(1));
  clock_.AwaitWaiting(kInterval);
  auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2);
  EXPECT_FALSE(HasEnd(requests[0].body));
  EXPECT_TRUE(HasEnd(requests[1].body));
  clock_.Advance(absl::Minutes(10));
  clock_.AwaitWaiting(kInterval);
  EXPECT_EQ(server_.requests().size(), 2);  // once
  AddTick(2);
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  requests = server_.requests();
  ASSERT_EQ(requests.size(), 3);
  EXPECT_FALSE(HasEnd(requests[2].body));
}

TEST_F(ExportShardTest, SeriesOfAForgottenMachineEnd) {
  ASSERT_OK(agent_.Connect());
  AddTick(1);
  Start();
  clock_.AwaitWaiting(kInterval);
  ASSERT_OK(store_->ForgetMachines({"web-1"}));
  clock_.Advance(kInterval);
  clock_.AwaitWaiting(kInterval);
  const auto requests = server_.requests();
  ASSERT_EQ(requests.size(), 2);
  EXPECT_TRUE(HasEnd(requests[1].body));
}

}  // namespace
}  // namespace fleetperf::aggregator
