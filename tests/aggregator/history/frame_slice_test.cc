#include "aggregator/history/frame_slice.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tests/aggregator/query/random_machine.h"
#include "tests/support/query_results.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::CollectRangeQuery;
using testing::Compaction;
using testing::kStart;
using testing::Random;
using testing::TestStore;
using testing::WriteRandomMachine;

// A store that passes on its frames in slices of a number of ticks.
class SlicedStore : public testing::StoreWrapper {
 public:
  SlicedStore(Store* whole, uint32_t ticks)
      : StoreWrapper(whole), ticks_(ticks) {}

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    ReadRequest unfolded = request;
    unfolded.may_fold = nullptr;
    const auto pass_on = [&](const Frame& frame) -> absl::Status {
      const auto ticks = static_cast<uint32_t>(frame.clocks->size());
      for (uint32_t first = 0; first < ticks; first += ticks_) {
        RETURN_IF_ERROR(
            on_frame(Slice(frame, first, std::min(first + ticks_, ticks))));
      }
      return absl::OkStatus();
    };
    return StoreWrapper::Read(unfolded, pass_on, on_loss);
  }

 private:
  const uint32_t ticks_;
};

// Returns all numbers of an answer, except those of lives.
std::vector<std::string> ToTexts(
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

class FrameSliceTest : public ::testing::TestWithParam<Layout> {};

TEST_P(FrameSliceTest, SlicesYieldTheAnswersOfWholeFrames) {
  const Layout layout = GetParam();
  Random random(static_cast<uint64_t>(layout.compaction) + 7);
  int compared = 0;
  for (uint32_t ticks = 1; ticks <= 4; ++ticks) {
    TestStore whole;
    ASSERT_OK(WriteRandomMachine("web-1", layout.compaction, &random, &whole));
    if (layout.is_thinned) {
      ASSERT_OK(whole.Thin(Resolution::kMinute));
    }
    SlicedStore sliced(&*whole, ticks);
    for (const absl::Duration step :
         {absl::ZeroDuration(),
          layout.is_thinned ? absl::Minutes(1) : absl::Seconds(30)}) {
      for (const Over over : {Over::kFormula, Over::kSum}) {
        const auto expected = ToTexts(Query(*whole, step, over));
        EXPECT_EQ(ToTexts(Query(sliced, step, over)), expected)
            << ticks << " ticks, step " << step;
        compared += static_cast<int>(expected.size());
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

INSTANTIATE_TEST_SUITE_P(Stores, FrameSliceTest,
                         ::testing::Values(Layout{Compaction::kNever},
                                           Layout{Compaction::kAtTheEnd},
                                           Layout{Compaction::kAtTheEnd,
                                                  /*is_thinned=*/true}));

}  // namespace
}  // namespace fleetperf::aggregator
