#include "aggregator/subscribe/stream_evaluator.h"

#include <utility>

namespace fleetperf::aggregator {

std::optional<Point> StreamEvaluator::Add(const RawSample& sample,
                                          absl::Duration sampling_interval) {
  const std::optional<Piece> piece =
      PieceTo(formula_, last_, sample, sampling_interval);
  last_ = sample;
  if (interval_ > sampling_interval) return AddToWindow(sample, piece);
  const bool is_first = formula_.uses_two_samples() && !piece.has_value();
  if (is_first) return std::nullopt;
  return Point{TimeOf(sample),
               {.result = ValueOfSample(formula_, sample, piece)}};
}

// Windows end at multiples of the interval. A window is complete at the first
// sample after it.
std::optional<Point> StreamEvaluator::AddToWindow(
    const RawSample& sample, const std::optional<Piece>& piece) {
  const absl::Time end =
      absl::UnixEpoch() +
      absl::Ceil(TimeOf(sample) - absl::UnixEpoch(), interval_);
  std::optional<Point> complete;
  if (end != window_end_) {
    if (!window_.empty()) {
      complete = Point{window_end_, window_.Finish(formula_, Over::kFormula,
                                                   window_end_, interval_)};
    }
    window_ = {};
    window_end_ = end;
  }
  window_.Add(formula_, Over::kFormula, sample, piece);
  return complete;
}

std::optional<absl::Time> StreamEvaluator::newest() const {
  if (!last_.has_value()) return std::nullopt;
  return TimeOf(*last_);
}

}  // namespace fleetperf::aggregator
