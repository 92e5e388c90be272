// Queries that read machines on several threads answer like one thread.

#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "aggregator/query/range_query.h"
#include "tests/support/disk_agent.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/points_text.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::DiskAgent;
using ::testing::HasSubstr;
using ::testing::Le;
using testing::StatusIs;
using testing::TestStore;
using testing::ToText;

constexpr int kFleetSize = 100;
// Half of the machines have one disk, the others two.
constexpr int kDisks = kFleetSize / 2 * 3;
constexpr size_t kThreads = 4;

std::string NameOf(int machine) { return absl::StrFormat("m-%02d", machine); }

// A store with machines that cannot be read, or only together with others.
class UnevenStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    ++reads;
    if (last_is_read != nullptr) {
      if (request.machine == NameOf(kFleetSize - 2) &&
          std::this_thread::get_id() != asker) {
        last_is_read->WaitForNotification();
      }
      if (request.machine == NameOf(kFleetSize - 1)) last_is_read->Notify();
    }
    const auto error = errors.find(request.machine);
    if (error != errors.end()) return error->second;
    return StoreWrapper::Read(request, on_frame, on_loss);
  }

  std::map<std::string, absl::Status> errors;
  std::atomic<int> reads = 0;
  // If set, a helping thread reads the second last machine only after another
  // thread began to read the last one, which is thus read ahead of its turn.
  // The asking thread must not wait: it may read the second last machine while
  // it awaits an earlier one, before whose turn is over the last cannot begin.
  std::unique_ptr<absl::Notification> last_is_read;
  const std::thread::id asker = std::this_thread::get_id();
};

class ParallelQuery : public ::testing::Test {
 protected:
  // Machines have one or two disks; later machines are busier.
  void SetUp() override {
    for (int machine = 0; machine < kFleetSize; ++machine) {
      DiskAgent agent(&test_store_, NameOf(machine));
      const auto rate = static_cast<uint64_t>(1 + machine % 17);
      const uint32_t c = agent.Disk("C:");
      if (machine % 2 == 0) {
        agent.Ticks(0, 20, {{c, rate}});
      } else {
        agent.Ticks(0, 20, {{c, rate}, {agent.Disk("D:"), 3 * rate}});
      }
      ASSERT_OK(agent.Send());
    }
  }

  QueryContext Context(size_t threads) {
    return {.store = store_,
            .now_of = [](const std::string&) { return At(20); },
            .limits = limits_,
            .threads = threads};
  }

  // Returns each series' name, points and total, or the error.
  std::vector<std::string> Ask(size_t threads) {
    std::vector<std::string> texts;
    const absl::Status status = RunRangeQuery(
        request_, Context(threads), [&](const SeriesResult& result) {
          texts.push_back(result.series.ShortDebugString());
          for (const std::string& point : ToText(result.points)) {
            texts.push_back(point);
          }
          texts.push_back(ToText(result.total));
          return absl::OkStatus();
        });
    if (!status.ok()) texts.push_back(status.ToString());
    return texts;
  }

  RangeRequest request_{.paths = {"\\Disk(*)\\Transfers/sec"},
                        .start = At(0),
                        .end = At(20),
                        .step = absl::Seconds(5)};
  QueryLimits limits_;
  TestStore test_store_;
  UnevenStore store_{&*test_store_};
};

TEST_F(ParallelQuery, AnswersLikeOneThread) {
  const auto expect_same = [&](size_t at_least) {
    const auto expected = Ask(1);
    EXPECT_GE(expected.size(), at_least);
    EXPECT_EQ(Ask(kThreads), expected);
  };
  expect_same(kDisks * 6);
  request_.choice.top = 7;
  expect_same(7 * 6);
  request_.choice = {};
  request_.aggregation = Aggregation{};
  expect_same(6);
  request_.aggregation =
      Aggregation{.function = AggregateFunction::kP90, .by_machine = true};
  expect_same(kFleetSize * 6);
  request_.aggregation.reset();
  request_.paths = {"\\Disk(C:)\\Transfers/sec - \\Disk(D:)\\Transfers/sec"};
  expect_same(kFleetSize / 2 * 6);
  request_.paths = {"\\Disk(E:)\\Transfers/sec"};
  expect_same(1);  // no other thread
}

TEST_F(ParallelQuery, AnswersIfNoThreadStarts) {
  const auto expected = Ask(1);
  const testing::NoNewThreads no_new_threads;
  EXPECT_EQ(Ask(kThreads), expected);
}

TEST_F(ParallelQuery, ReturnsResultsBeforeTheFirstError) {
  store_.errors["m-05"] = absl::UnavailableError("the first");
  store_.errors["m-06"] = absl::UnavailableError("the second");
  const auto answer = Ask(kThreads);
  EXPECT_EQ(answer, Ask(1));
  EXPECT_THAT(answer.back(), HasSubstr("the first"));
  EXPECT_EQ(answer.size(), 7 * 6 + 1);  // m-00 to m-04 have 7 disks
}

TEST_F(ParallelQuery, LimitsSamplesRead) {
  // 21 per disk; every second machine has two.
  limits_.samples = kDisks * 21;
  EXPECT_OK(testing::CollectRangeQuery(request_, Context(kThreads)));
  --limits_.samples;
  EXPECT_THAT(testing::CollectRangeQuery(request_, Context(kThreads)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 3149 samples")));
}

TEST_F(ParallelQuery, LimitsValuesLikeOneThread) {
  const auto expect_same = [&](size_t from, size_t to) {
    bool has_failed = false;
    bool has_answered = false;
    for (limits_.held = from; limits_.held < to; ++limits_.held) {
      const auto expected = Ask(1);
      ASSERT_EQ(Ask(kThreads), expected) << limits_.held;
      const bool failed = absl::StrContains(expected.back(), "at a time");
      (failed ? has_failed : has_answered) = true;
    }
    EXPECT_TRUE(has_failed);
    EXPECT_TRUE(has_answered);
  };
  // All values of 150 disks in four windows and the total.
  request_.aggregation = Aggregation{.function = AggregateFunction::kP90};
  expect_same(740, 760);
}

TEST_F(ParallelQuery, CountsMachinesReadAheadTowardsTheLimit) {
  request_.aggregation = Aggregation{.by_machine = true};
  request_.choice.top = kFleetSize;
  // Four windows of 99 machines; while the last is read, eight more.
  limits_.held = 99 * 4 + 8;
  store_.last_is_read = std::make_unique<absl::Notification>();
  EXPECT_OK(testing::CollectRangeQuery(request_, Context(kThreads)));
  EXPECT_EQ(store_.reads, kFleetSize);  // none again in its turn
  --limits_.held;
  store_.last_is_read = std::make_unique<absl::Notification>();
  EXPECT_THAT(testing::CollectRangeQuery(request_, Context(kThreads)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 403 values")));
}

TEST_F(ParallelQuery, CountsSamplesReadAgainOnce) {
  limits_.held = 8;  // no machine can be read ahead
  limits_.samples = kDisks * 21;
  EXPECT_EQ(Ask(kThreads).size(), kDisks * 6);
}

TEST_F(ParallelQuery, ReportsProgressInTheOrderOfMachines) {
  std::vector<size_t> expected(kFleetSize + 1);
  std::iota(expected.begin(), expected.end(), 0);
  for (const bool is_raw : {false, true}) {
    QueryContext context = Context(kThreads);
    std::vector<size_t> reported;
    size_t last = SIZE_MAX;
    context.report_progress = [&](size_t machines_read, size_t machines) {
      EXPECT_EQ(machines, kFleetSize);
      reported.push_back(machines_read);
      return machines_read == last ? absl::CancelledError("enough")
                                   : absl::OkStatus();
    };
    const auto ask = [&] {
      reported.clear();
      return is_raw ? testing::CollectRawQuery(request_, context).status()
                    : testing::CollectRangeQuery(request_, context).status();
    };
    EXPECT_OK(ask());
    EXPECT_EQ(reported, expected);
    last = 2;
    EXPECT_THAT(ask(), StatusIs(absl::StatusCode::kCancelled, "enough"));
    EXPECT_EQ(reported, (std::vector<size_t>{0, 1, 2}));
  }
}

TEST_F(ParallelQuery, EndsWhenCancelled) {
  QueryContext context = Context(kThreads);
  std::atomic<int> asking = 0;
  context.is_cancelled = [&] {
    EXPECT_EQ(++asking, 1);
    --asking;
    return store_.reads > 10;
  };
  EXPECT_THAT(
      testing::CollectRangeQuery(request_, context),
      StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled the query")));
  EXPECT_THAT(store_.reads, Le(10 + static_cast<int>(kThreads)));
}

}  // namespace
}  // namespace fleetperf::aggregator
