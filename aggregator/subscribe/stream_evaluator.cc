#include "aggregator/subscribe/stream_evaluator.h"

#include <utility>

namespace fleetperf::aggregator {

absl::Time EndOfWindow(absl::Time time, absl::Duration interval) {
  return absl::UnixEpoch() + absl::Ceil(time - absl::UnixEpoch(), interval);
}

std::optional<Point> StreamEvaluator::Add(
    const WalkedSample& walked,
    absl::FunctionRef<int64_t(absl::Time)> time_of) {
  if (interval_ > walked.interval) return AddToWindow(walked, time_of);
  const bool is_first =
      formula_.uses_two_samples() && !walked.piece.has_value();
  if (is_first) return std::nullopt;
  return Point{
      TimeOf(walked.sample),
      {.result = ValueOfSample(formula_, walked.sample, walked.piece)}};
}

// A window is complete at the first sample after it.
std::optional<Point> StreamEvaluator::AddToWindow(
    const WalkedSample& walked,
    absl::FunctionRef<int64_t(absl::Time)> time_of) {
  const absl::Time end = EndOfWindow(TimeOf(walked.sample), interval_);
  std::optional<Point> complete;
  if (end != window_end_) {
    if (!window_.empty()) {
      complete = Point{window_end_, window_.Finish(formula_, Over::kFormula,
                                                   window_end_, interval_)};
      complete->value.presence = there_.PresenceIn(time_of(window_end_));
    }
    window_ = {};
    there_ = {};
    window_end_ = end;
  }
  window_.Add(formula_, Over::kFormula, walked.sample, walked.piece);
  if (walked.tick_interval.length > 0) {
    there_.Add(walked.tick_interval.length, walked.IsSound(formula_));
  }
  return complete;
}

}  // namespace fleetperf::aggregator
