#include "aggregator/subscribe/stream_evaluator.h"

#include <utility>

#include "aggregator/store/frame.h"

namespace fleetperf::aggregator {
namespace {

absl::Time TimeOf(const RawSample& sample) {
  return perflib::TimeFromPerfTime100NSec(sample.clocks.perf_time_100nsec);
}

}  // namespace

std::optional<Point> StreamEvaluator::Add(const RawSample& sample,
                                          absl::Duration sampling_interval) {
  std::optional<Piece> piece;
  if (formula_.uses_two_samples() && last_.has_value()) {
    piece = MakePiece(formula_, *last_, sample, sampling_interval);
  }
  last_ = sample;
  if (interval_ > sampling_interval) return AddToWindow(sample, piece);

  WindowValue value;
  if (!formula_.uses_two_samples()) {
    value.result = CalculateSample(formula_, sample);
  } else if (!piece.has_value()) {
    return std::nullopt;  // its first
  } else if (piece->sound()) {
    value.result = CalculateGrowth(formula_, piece->growth);
  } else {
    value.result = piece->problem;
  }
  return Point{TimeOf(sample), value};
}

// Windows end at multiples of the interval. One is complete when the first
// sample behind it has come.
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
  if (piece.has_value()) {
    window_.AddPiece(formula_, Over::kFormula, *piece);
  } else if (!formula_.uses_two_samples()) {
    window_.AddSample(formula_, Over::kFormula, sample);
  }
  return complete;
}

std::optional<absl::Time> StreamEvaluator::newest() const {
  if (!last_.has_value()) return std::nullopt;
  return TimeOf(*last_);
}

}  // namespace fleetperf::aggregator
