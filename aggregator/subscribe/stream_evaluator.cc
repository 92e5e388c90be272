#include "aggregator/subscribe/stream_evaluator.h"

#include <utility>

namespace fleetperf::aggregator {

absl::Time EndOfWindow(absl::Time time, absl::Duration interval) {
  return absl::UnixEpoch() + absl::Ceil(time - absl::UnixEpoch(), interval);
}

std::optional<Point> StreamEvaluator::Add(
    const RawSample& sample, absl::Duration sampling_interval,
    int64_t tick_interval, absl::FunctionRef<int64_t(absl::Time)> time_of) {
  const std::optional<Piece> piece =
      end_.Take(formula_, sample, sampling_interval);
  if (interval_ > sampling_interval) {
    return AddToWindow(sample, piece, tick_interval, time_of);
  }
  const bool is_first = formula_.uses_two_samples() && !piece.has_value();
  if (is_first) return std::nullopt;
  return Point{TimeOf(sample),
               {.result = ValueOfSample(formula_, sample, piece)}};
}

// A window is complete at the first sample after it.
std::optional<Point> StreamEvaluator::AddToWindow(
    const RawSample& sample, const std::optional<Piece>& piece,
    int64_t tick_interval, absl::FunctionRef<int64_t(absl::Time)> time_of) {
  const absl::Time end = EndOfWindow(TimeOf(sample), interval_);
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
  window_.Add(formula_, Over::kFormula, sample, piece);
  if (tick_interval > 0) {
    there_.Add(tick_interval, ValueOfSample(formula_, sample, piece).ok());
  }
  return complete;
}

std::optional<absl::Time> StreamEvaluator::newest() const {
  if (!end_.sample().has_value()) return std::nullopt;
  return TimeOf(*end_.sample());
}

}  // namespace fleetperf::aggregator
