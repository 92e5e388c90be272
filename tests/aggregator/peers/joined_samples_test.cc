// Samples that are spread over stores yield the same answers as those in one.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/peers/frame_join.h"
#include "aggregator/peers/frame_slice.h"
#include "aggregator/peers/sample_answer.h"
#include "aggregator/peers/sample_decoder.h"
#include "base/status_macros.h"
#include "tests/aggregator/query/random_machine.h"
#include "tests/support/disk_agent.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::CollectRangeQuery;
using testing::CollectRawQuery;
using testing::Compaction;
using testing::DiskAgent;
using testing::kStart;
using testing::Random;
using testing::TestStore;
using testing::WriteRandomMachine;

// A store that has only some ticks of another one.
class PartOfStore : public testing::StoreWrapper {
 public:
  using HasTick = std::function<bool(int64_t perf_time_stamp)>;

  PartOfStore(Store* all, HasTick has_tick)
      : StoreWrapper(all), has_tick_(std::move(has_tick)) {}

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    const auto pass_on = [&](const Frame& frame) -> absl::Status {
      const auto has = [&](uint32_t tick) {
        return has_tick_((*frame.clocks)[tick].perf_time_stamp);
      };
      const auto ticks = static_cast<uint32_t>(frame.clocks->size());
      for (uint32_t first = 0; first < ticks;) {
        uint32_t end = first;
        while (end < ticks && has(end)) ++end;
        if (end > first) {
          RETURN_IF_ERROR(on_frame(Slice(frame, first, end)));
        }
        first = end + 1;
      }
      return absl::OkStatus();
    };
    return StoreWrapper::Read(request, pass_on, on_loss);
  }

 private:
  const HasTick has_tick_;
};

// Several stores with the directory of another one, as peers see them.
class JoinedStores : public testing::StoreWrapper {
 public:
  JoinedStores(Store* all, std::vector<Store*> parts)
      : StoreWrapper(all), parts_(std::move(parts)) {}

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    FrameJoin join;
    for (Store* const part : parts_) {
      v1::ReadSamplesRequest asked = RequestToPeer(request);
      asked.set_with_epochs(true);
      SampleDecoder decoder(request);
      join.BeginStore(&decoder.epochs());
      const auto on_loss_of_part = [&](const Loss& loss) {
        // The parts of a store have the losses of the whole.
        if (part == parts_.front()) on_loss(loss);
      };
      const auto add = [&](const v1::ReadSamplesResponse& response) {
        return decoder.Decode(
            response, [&](const Frame& frame) { return join.Add(frame); },
            on_loss_of_part);
      };
      RETURN_IF_ERROR(AnswerReadSamples(*part, *part, asked,
                                        /*is_cancelled=*/nullptr, add));
    }
    return join.Run(on_frame);
  }

 private:
  const std::vector<Store*> parts_;
};

// Returns all numbers of an answer, except those of lives.
std::vector<std::string> Text(
    const absl::StatusOr<std::vector<SeriesResult>>& results) {
  if (!results.ok()) return {std::string(results.status().message())};
  std::vector<std::string> text;
  for (const SeriesResult& result : *results) {
    text.push_back(result.series.path());
    std::vector<Point> points = result.points;
    points.push_back({absl::InfiniteFuture(), result.total});
    for (const Point& point : points) {
      text.push_back(
          absl::StrCat(absl::FormatTime(point.time, absl::UTCTimeZone()), " ",
                       static_cast<int>(point.value.result.status), " ",
                       static_cast<int>(point.value.result.cause), " ",
                       point.value.result.value, " ", point.value.breaks, " ",
                       point.value.coverage, " ", point.value.presence));
    }
  }
  return text;
}

absl::StatusOr<std::vector<SeriesResult>> Query(Store& store,
                                                absl::Duration step,
                                                Over over) {
  return CollectRangeQuery(
      {.paths = {"\\Load(*)\\*"},
       .start = kStart - absl::Hours(1),
       .end = kStart + absl::Hours(5),
       .step = step,
       .over = over},
      {.store = store, .now_of = [](const std::string&) { return kStart; }});
}

struct Layout {
  Compaction compaction;
  bool is_thinned = false;
};

class JoinedSamplesTest : public ::testing::TestWithParam<Layout> {};

// Each third of a minute is in one of three stores, and every seventh second in
// all of them. Of thinned data, most ticks are in another store than the tick
// before them.
TEST_P(JoinedSamplesTest, AnswersAreThoseOfOneStore) {
  const Layout layout = GetParam();
  Random random(static_cast<uint64_t>(layout.compaction) + 7);
  int compared = 0;
  for (int i = 0; i < 4; ++i) {
    TestStore all;
    ASSERT_OK(WriteRandomMachine("web-1", layout.compaction, &random, &all));
    if (layout.is_thinned) {
      ASSERT_OK(all.Thin(Resolution::kMinute));
    }
    std::vector<std::unique_ptr<PartOfStore>> parts;
    std::vector<Store*> stores;
    for (int64_t part = 0; part < 3; ++part) {
      parts.push_back(
          std::make_unique<PartOfStore>(&*all, [part](int64_t perf_time_stamp) {
            const int64_t seconds = perf_time_stamp / 10'000'000;
            return seconds / 20 % 3 == part || seconds % 7 == 0;
          }));
      stores.push_back(parts.back().get());
    }
    JoinedStores joined(&*all, stores);
    for (const absl::Duration step :
         {absl::ZeroDuration(),
          layout.is_thinned ? absl::Minutes(1) : absl::Seconds(30)}) {
      for (const Over over : {Over::kFormula, Over::kSum}) {
        const auto expected = Text(Query(*all, step, over));
        EXPECT_EQ(Text(Query(joined, step, over)), expected)
            << "machine " << i << ", step " << step;
        compared += static_cast<int>(expected.size());
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

INSTANTIATE_TEST_SUITE_P(Stores, JoinedSamplesTest,
                         ::testing::Values(Layout{Compaction::kNever},
                                           Layout{Compaction::kAtTheEnd},
                                           Layout{Compaction::kAtTheEnd,
                                                  /*is_thinned=*/true}));

// An agent moves to another aggregator and back, and is restarted then. The
// merged samples of the first one have those of the second in the middle. Both
// stores know the second number of an epoch, but not the same epoch.
TEST(JoinedStoresTest, MovedAgentLeavesNoGap) {
  TestStore all;
  TestStore first;
  TestStore second;
  DiskAgent other(&second, "db-1");
  other.Ticks(0, 1, {{other.Disk("C:"), 1}});
  ASSERT_OK(other.Send());
  uint32_t disk = 0;
  const auto start = [&disk](TestStore* store, uint64_t epoch) {
    auto agent = std::make_unique<DiskAgent>(store, "web-1", epoch);
    EXPECT_OK(agent->Connect());
    disk = agent->Disk("C:");  // the same for all
    return agent;
  };
  const auto send = [&disk](DiskAgent* agent, int from, int to) {
    agent->Ticks(from, to, {{disk, 3}});
    return agent->Send();
  };
  const auto to_all = start(&all, 1);
  const auto to_first = start(&first, 1);
  const auto to_second = start(&second, 1);
  ASSERT_OK(send(to_all.get(), 0, 19));
  ASSERT_OK(send(to_first.get(), 0, 9));
  // The first batch was acknowledged too late, and was sent again.
  ASSERT_OK(send(to_second.get(), 5, 14));
  ASSERT_OK(send(to_first.get(), 15, 19));
  ASSERT_OK(send(start(&all, 2).get(), 20, 29));
  ASSERT_OK(send(start(&first, 2).get(), 20, 29));
  ASSERT_OK(first.Compact());
  JoinedStores joined(&*all, {&*first, &*second});
  const RangeRequest request = {.paths = {"\\Disk(*)\\*"},
                                .start = At(-1),
                                .end = At(29),
                                .step = absl::Seconds(10)};
  const auto context_of = [](Store& store) {
    return QueryContext{.store = store,
                        .now_of = [](const std::string&) { return At(29); }};
  };
  EXPECT_EQ(Text(CollectRangeQuery(request, context_of(joined))),
            Text(CollectRangeQuery(request, context_of(*all))));
  ASSERT_OK_AND_ASSIGN(const auto raw,
                       CollectRawQuery(request, context_of(joined)));
  ASSERT_EQ(raw.size(), 2);
  const std::vector<RawSample>& samples = raw[0].samples;
  ASSERT_EQ(samples.size(), 30);
  EXPECT_NE(samples[0].life, samples[20].life);
  for (size_t t = 0; t < 30; ++t) {
    EXPECT_EQ(TimeOf(samples[t]), At(static_cast<double>(t)));
    EXPECT_EQ(samples[t].life, samples[t < 20 ? 0 : 20].life);
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
