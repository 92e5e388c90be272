// The join of stored samples and new batches by epochs and sequences, not by
// clocks, which may go back.

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/aggregator/subscribe/hub_fixture.h"

namespace fleetperf::aggregator {
namespace {

using testing::ClocksAt;
using ::testing::Contains;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kQueue;
using testing::kStart;
using ::testing::Not;

constexpr char kTransfers[] = "\\Disk(*)\\Transfers/sec";

// A remote machine that restarts while its agent continues.
struct RemoteDisk : DiskAgent {
  using DiskAgent::DiskAgent;

  // PerfTimeStamp and Transfers start at 0 with the machine.
  void TicksAfterRestart(int first, int last, uint32_t instance, int restart) {
    for (int t = first; t <= last; ++t) {
      perflib::Clocks clocks = ClocksAt(t);
      clocks.perf_time_stamp = (t - restart) * testing::kFreq;
      const auto up = static_cast<uint64_t>(t - restart);
      AddTick(query, clocks, {{instance, {2 * up, up}}});
    }
  }
};

// Stored samples are read from the log or from chunks.
class JoinTest : public HubTest, public ::testing::WithParamInterface<bool> {
 protected:
  JoinTest() {
    hub_.SetAfterCommits([this](std::function<void()> task) {
      after_commits_.push_back(std::move(task));
    });
  }

  void Store(DiskAgent& agent, const ReceivedBatch& batch) {
    ASSERT_OK(agent.Keep(batch));
    if (GetParam()) {
      ASSERT_OK(store_.Compact());
    }
  }
  std::shared_ptr<const ReceivedBatch> Take(DiskAgent& agent) {
    auto batch = agent.TakeBatch();
    EXPECT_OK(batch);
    return *batch;
  }
  void StoreNext(DiskAgent& agent) { Store(agent, *Take(agent)); }

  // Stores all accepted batches.
  void Committed() {
    Work();
    while (!after_commits_.empty()) {
      after_commits_.front()();
      after_commits_.pop_front();
      Work();
    }
  }
  std::unique_ptr<Reader> SubscribeCommitted(const std::string& path,
                                             const Wanted& wanted) {
    auto reader = Subscribe({path}, wanted);
    Committed();
    return reader;
  }

  std::deque<std::function<void()>> after_commits_;
};

INSTANTIATE_TEST_SUITE_P(, JoinTest, ::testing::Bool(),
                         [](const auto& kind) -> std::string {
                           return kind.param ? "Chunks" : "Log";
                         });

TEST_P(JoinTest, ContinuesAfterAMachineRestartWithinAnEpoch) {
  RemoteDisk agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(100, 101, {{c, 3}});
  StoreNext(agent);
  const auto queue = SubscribeCommitted(kQueue, {});
  const auto rate = SubscribeCommitted(kTransfers, {});
  const auto raw = SubscribeCommitted(kQueue, {.raw = true});
  queue->Read();
  rate->Read();
  raw->Read();
  agent.TicksAfterRestart(103, 104, c, 102);
  Arrive(agent);
  EXPECT_THAT(queue->Read(), ElementsAre("1@103=1", "1@104=2"));
  EXPECT_THAT(rate->Read(), ElementsAre("1@103 gap", "1@104=2"));
  EXPECT_THAT(raw->Read(), ElementsAre("1@103 raw 1", "1@104 raw 2"));
  agent.TicksAfterRestart(106, 106, c, 105);
  Arrive(agent);
  EXPECT_THAT(queue->Read(), ElementsAre("1@106=1"));
}

TEST_P(JoinTest, JoinsHistoryAcrossARestart) {
  RemoteDisk agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(100, 101, {{c, 3}});
  StoreNext(agent);
  agent.TicksAfterRestart(103, 104, c, 102);
  StoreNext(agent);
  const auto reader =
      SubscribeCommitted(kTransfers, {.start = kStart + absl::Seconds(90)});
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Transfers/sec",
                                          "1@101=3", "1@103 gap", "1@104=2"));
  agent.TicksAfterRestart(105, 105, c, 102);
  Arrive(agent);
  EXPECT_THAT(reader->Read(), ElementsAre("1@105=2"));
}

// The restart is in flight while history is read: stored before or after, and
// evaluated before or after.
TEST_P(JoinTest, DeliversARestartInFlightOnce) {
  for (const bool others_watch : {false, true}) {
    for (int stored = 0; stored <= 3; ++stored) {
      SCOPED_TRACE(absl::StrCat(others_watch, " ", stored));
      const std::string machine = absl::StrCat("web-", others_watch, stored);
      RemoteDisk agent(&store_, machine);
      const uint32_t c = agent.Disk("C:");
      agent.Ticks(100, 101, {{c, 3}});
      StoreNext(agent);
      const std::string path = absl::StrCat("\\\\", machine, kQueue);
      std::unique_ptr<Reader> other;
      if (others_watch) other = SubscribeCommitted(path, {});
      // Batches accepted before are stored when the hub is notified of the
      // commit.
      agent.Ticks(102, 102, {{c, 3}});
      const auto before = Take(agent);
      hub_.OnBatch(before);
      Work();
      const auto reader =
          Subscribe({path}, {.start = kStart + absl::Seconds(100)});
      Store(agent, *before);
      std::vector<std::shared_ptr<const ReceivedBatch>> meanwhile;
      for (int i = 0; i < 3; ++i) {
        agent.TicksAfterRestart(105 + i, 105 + i, c, 104);
        meanwhile.push_back(Take(agent));
        hub_.OnBatch(meanwhile.back());
        if (i % 2 == 0) Work();
      }
      for (int i = 0; i < stored; ++i) Store(agent, *meanwhile[i]);
      Committed();
      EXPECT_THAT(
          reader->Read(),
          ElementsAre(absl::StrCat("+1 ", machine, " \\Disk(C:)\\Queue Length"),
                      "1@101=3", "1@102=3", "1@105=1", "1@106=2", "1@107=3"));
      agent.TicksAfterRestart(108, 108, c, 104);
      Arrive(agent);
      EXPECT_THAT(reader->Read(), ElementsAre("1@108=4"));
    }
  }
}

// A subscription without history begins with the newest value.
TEST_P(JoinTest, DeliversARestartAfterTheNewestValueOnce) {
  RemoteDisk agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(100, 101, {{c, 3}});
  StoreNext(agent);
  const auto reader = Subscribe({kQueue});
  agent.TicksAfterRestart(103, 103, c, 102);
  const auto stored = Take(agent);
  hub_.OnBatch(stored);
  Store(agent, *stored);
  agent.TicksAfterRestart(104, 104, c, 102);
  Offer(agent);
  Committed();
  EXPECT_THAT(reader->Read(), ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length",
                                          "1@103=1", "1@104=2"));
}

// An interrupted capture is replayed after the agent's own epoch began.
TEST_P(JoinTest, ContinuesAnOlderEpoch) {
  DiskAgent played(&store_, "web-1", /*epoch=*/1);
  const uint32_t c = played.Disk("C:");
  played.Ticks(100, 101, {{c, 3}});
  StoreNext(played);
  DiskAgent agent(&store_, "web-1", /*epoch=*/2);
  agent.Ticks(200, 201, {{agent.Disk("C:"), 4}});
  StoreNext(agent);
  const auto reader =
      SubscribeCommitted(kQueue, {.start = kStart + absl::Seconds(99)});
  EXPECT_THAT(reader->Read(),
              ElementsAre("+1 web-1 \\Disk(C:)\\Queue Length", "1@100=3",
                          "1@101=3", "1@200=4", "1@201=4"));
  played.Ticks(102, 102, {{c, 3}});
  Arrive(played);
  EXPECT_THAT(reader->Read(), ElementsAre("1@102=3"));
}

// The commit failed, and the agent resent the batch.
TEST_P(JoinTest, DoesNotRepeatAResentBatch) {
  DiskAgent agent(&store_);
  const uint32_t c = agent.Disk("C:");
  agent.Ticks(100, 101, {{c, 3}});
  StoreNext(agent);
  const auto reader = SubscribeCommitted(kQueue, {});
  reader->Read();
  agent.Ticks(102, 102, {{c, 3}});
  const auto batch = Take(agent);
  hub_.OnBatch(batch);
  Work();
  EXPECT_THAT(reader->Read(), ElementsAre("1@102=3"));
  hub_.OnBatch(batch);
  Work();
  EXPECT_THAT(reader->Read(), IsEmpty());
}

// History is read so late that the oldest updates held for it were dropped.
class LateHistoryTest : public JoinTest {
 protected:
  static constexpr int kFirst = 102;
  static constexpr int kLast = kFirst + 1100;  // 1,000 updates are held

  // C: and D: are stored at 100 s and 101 s.
  LateHistoryTest() {
    agent_.Ticks(100, 101, {{c_, 3}, {d_, 4}});
    StoreNext(agent_);
    other_ = SubscribeCommitted(kQueue, {});
    reader_ = Subscribe({kQueue}, {.start = kStart + absl::Seconds(99)});
  }

  void ArriveAt(int second,
                const std::vector<std::pair<uint32_t, uint64_t>>& rates) {
    agent_.Ticks(second, second, rates);
    Arrive(agent_);
  }
  // C: alone arrives from `first` on. Then history is read.
  std::vector<std::string> ReadWithC(int first) {
    for (int t = first; t <= kLast; ++t) ArriveAt(t, {{c_, 3}});
    Committed();
    return reader_->Read();
  }

  // Returns the numbers of the series that the subscriber has after the notes.
  static std::set<std::string> Living(const std::vector<std::string>& notes) {
    std::set<std::string> living;
    for (const std::string& note : notes) {
      const std::string number = note.substr(1, note.find(' ') - 1);
      if (note[0] == '+') living.insert(number);
      if (note[0] == '-') living.erase(number);
    }
    return living;
  }

  DiskAgent agent_{&store_};
  const uint32_t c_ = agent_.Disk("C:");
  const uint32_t d_ = agent_.Disk("D:");
  std::unique_ptr<Reader> other_;  // its feed exists before that of reader_
  std::unique_ptr<Reader> reader_;
};

INSTANTIATE_TEST_SUITE_P(, LateHistoryTest, ::testing::Bool(),
                         [](const auto& kind) -> std::string {
                           return kind.param ? "Chunks" : "Log";
                         });

TEST_P(LateHistoryTest, EndsASeriesWhoseEndWasDropped) {
  const auto notes = ReadWithC(kFirst);
  EXPECT_EQ(reader_->lagged(), kLast + 1 - kFirst - 1000);
  EXPECT_THAT(notes, Contains("2@101=4"));
  EXPECT_THAT(Living(notes), ElementsAre("1"));
  EXPECT_THAT(notes, Not(Contains("-1")));
  EXPECT_EQ(notes.back(), absl::StrCat("1@", kLast, "=3"));
}

TEST_P(LateHistoryTest, DoesNotEndASeriesThatReturned) {
  ArriveAt(kFirst, {{c_, 3}});
  for (int t = kFirst + 1; t <= kLast; ++t) ArriveAt(t, {{c_, 3}, {d_, 5}});
  Committed();
  const auto notes = reader_->Read();
  EXPECT_GT(reader_->lagged(), 0);
  EXPECT_THAT(Living(notes), ElementsAre("1", "2"));
  EXPECT_THAT(notes, Not(Contains("-2")));
}

// Processes come and go while updates are dropped: more of them than the
// listener remembers the ends of.
TEST_P(LateHistoryTest, EndsASeriesAmongManyWhoseEndsWereDropped) {
  std::vector<std::pair<uint32_t, uint64_t>> rates = {{c_, 3}, {d_, 4}};
  for (uint32_t i = 1; i <= 10'001; ++i) {
    rates.emplace_back(agent_.Disk("sh", i), 1);
  }
  ArriveAt(kFirst, rates);
  ArriveAt(kFirst + 1, {{c_, 3}, {d_, 4}});
  const auto notes = ReadWithC(kFirst + 2);
  EXPECT_THAT(notes, Contains("2@101=4"));
  EXPECT_THAT(Living(notes), ElementsAre("1"));
  EXPECT_EQ(notes.back(), absl::StrCat("1@", kLast, "=3"));
}

}  // namespace
}  // namespace fleetperf::aggregator
