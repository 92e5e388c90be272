// Queries stream their answers and stop when they are cancelled.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/query/range_query.h"
#include "aggregator/query/raw_query.h"
#include "tests/support/disk_agent.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::DiskAgent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;
using testing::TestStore;

// A store that records the machines read.
class ReadRecorder : public testing::StoreWrapper {
 public:
  ReadRecorder(Store* store, std::vector<std::string>* events)
      : StoreWrapper(store), events_(*events) {}

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    events_.push_back("read " + request.machine);
    return StoreWrapper::Read(request, on_frame, on_loss);
  }

 private:
  std::vector<std::string>& events_;
};

class QueryStreaming : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string machine : {"a", "b", "c"}) {
      DiskAgent agent(&test_store_, machine);
      agent.Ticks(0, 20, {{agent.Disk("C:"), machine == "b" ? 9 : 2}});
      ASSERT_OK(agent.Send());
    }
  }

  QueryContext Context() {
    return {.store = store_,
            .now_of = [](const std::string&) { return At(20); },
            .limits = limits_};
  }

  // Reads and answers, in order.
  std::vector<std::string> Ask(const RangeRequest& request) {
    const absl::Status status =
        RunRangeQuery(request, Context(), [&](const SeriesResult& result) {
          events_.push_back(absl::StrCat("series ", result.series.machine()));
          return absl::OkStatus();
        });
    if (!status.ok()) events_.push_back(std::string(status.message()));
    return std::exchange(events_, {});
  }

  RangeRequest request_{
      .paths = {"\\Disk(*)\\Transfers/sec"}, .start = At(0), .end = At(20)};
  QueryLimits limits_;
  std::vector<std::string> events_;
  TestStore test_store_;
  ReadRecorder store_{&*test_store_, &events_};
};

TEST_F(QueryStreaming, ReturnsAMachineBeforeReadingTheNext) {
  const auto machine_by_machine = ElementsAre("read a", "series a", "read b",
                                              "series b", "read c", "series c");
  EXPECT_THAT(Ask(request_), machine_by_machine);
  request_.choice.where = Condition{Comparison::kGreater, 1};
  EXPECT_THAT(Ask(request_), machine_by_machine);
  request_.aggregation = Aggregation{.by_machine = true};
  EXPECT_THAT(Ask(request_), machine_by_machine);
}

TEST_F(QueryStreaming, WaitsForAllMachinesIfRankedOrCombined) {
  request_.choice.top = 1;
  EXPECT_THAT(Ask(request_),
              ElementsAre("read a", "read b", "read c", "series b"));
  request_.choice = {};
  request_.aggregation = Aggregation{};
  EXPECT_THAT(Ask(request_),
              ElementsAre("read a", "read b", "read c", "series "));
}

TEST_F(QueryStreaming, ReportsAMissingInstanceAtTheEnd) {
  request_.paths.push_back("\\Disk(sda)\\*");
  const auto events = Ask(request_);
  ASSERT_EQ(events.size(), 7);
  EXPECT_EQ(events[5], "series c");
  EXPECT_THAT(events[6], HasSubstr("no instance \"sda\" in this time"));
}

TEST_F(QueryStreaming, ReturnsTheSinksError) {
  EXPECT_THAT(RunRangeQuery(request_, Context(),
                            [](const SeriesResult&) {
                              return absl::CancelledError("enough");
                            }),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
  EXPECT_THAT(events_, ElementsAre("read a"));
}

TEST_F(QueryStreaming, ReturnsRawSamplesByMachine) {
  EXPECT_OK(RunRawQuery(request_, Context(), [&](const RawSeries& series) {
    events_.push_back(absl::StrCat(series.series.machine(), " ",
                                   series.samples.size(), " samples"));
    return absl::OkStatus();
  }));
  EXPECT_THAT(events_, ElementsAre("read a", "a 20 samples", "read b",
                                   "b 20 samples", "read c", "c 20 samples"));
}

TEST_F(QueryStreaming, HoldsRawSamplesOfOneMachine) {
  limits_.held = 20;
  EXPECT_OK(testing::CollectRawQuery(request_, Context()));
  limits_.held = 19;
  EXPECT_THAT(testing::CollectRawQuery(request_, Context()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "the query needs more than 19 values at a time; choose "
                       "a longer step, a shorter time or fewer series"));
}

TEST_F(QueryStreaming, LimitsSamplesRead) {
  limits_.samples = 63;  // 21 of each machine
  EXPECT_OK(testing::CollectRangeQuery(request_, Context()));
  EXPECT_OK(testing::CollectRawQuery(request_, Context()));
  limits_.samples = 62;
  const auto exhausted =
      StatusIs(absl::StatusCode::kResourceExhausted,
               "the query reads more than 62 samples; choose a shorter time, "
               "fewer machines or fewer counters");
  EXPECT_THAT(testing::CollectRangeQuery(request_, Context()), exhausted);
  EXPECT_THAT(testing::CollectRawQuery(request_, Context()), exhausted);
}

TEST_F(QueryStreaming, CountsValuesOfPercentiles) {
  request_.aggregation = Aggregation{.function = AggregateFunction::kP90};
  limits_.held = 8;  // a window and the total, with three values each
  EXPECT_OK(testing::CollectRangeQuery(request_, Context()));
  limits_.held = 7;
  EXPECT_THAT(testing::CollectRangeQuery(request_, Context()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 7 values")));
}

TEST_F(QueryStreaming, EndsBetweenMachinesWhenCancelled) {
  QueryContext context = Context();
  context.is_cancelled = [&] { return events_.size() > 1; };
  EXPECT_THAT(
      testing::CollectRangeQuery(request_, context),
      StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled the query")));
  EXPECT_THAT(events_, ElementsAre("read a", "read b"));
}

}  // namespace
}  // namespace fleetperf::aggregator
