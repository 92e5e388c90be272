#include "aggregator/query/range_evaluator.h"

#include <algorithm>

namespace fleetperf::aggregator {
namespace {

absl::Time TimeOf(const RawSample& sample) {
  return perflib::TimeFromPerfTime100NSec(sample.clocks.perf_time_100nsec);
}

GapCause CauseOf(LossCause cause) {
  switch (cause) {
    case LossCause::kSpoolFull:
    case LossCause::kSpoolExpired:
    case LossCause::kSpoolDamaged:
    case LossCause::kDiskFull:
      return GapCause::kSpoolFull;
    case LossCause::kRejected:
      return GapCause::kRejected;
    case LossCause::kOverrun:
      return GapCause::kOverrun;
    case LossCause::kSourceFailed:
      return GapCause::kNoValue;
    case LossCause::kUnknown:
      break;
  }
  return GapCause::kNoSamples;
}

// Names the cause where all that shows is that nothing arrived.
void Explain(absl::Time start, absl::Time end, const std::vector<Loss>& losses,
             WindowValue* value) {
  GapCause& cause = value->result.cause;
  const bool incomplete = cause == GapCause::kNone && value->coverage < 1;
  if (cause != GapCause::kNoSamples && !incomplete) return;
  for (const Loss& loss : losses) {
    if (loss.start <= end && loss.end > start) {
      cause = CauseOf(loss.cause);
      return;
    }
  }
}

}  // namespace

int64_t WindowGrid::count() const {
  if (end <= start) return 0;
  absl::Duration rest;
  return absl::IDivDuration(end - start, length(), &rest);
}

int64_t WindowGrid::WindowOf(absl::Time time) const {
  if (time <= start) return 0;
  absl::Duration rest;
  const int64_t whole = absl::IDivDuration(time - start, length(), &rest);
  return rest > absl::ZeroDuration() ? whole + 1 : whole;
}

RangeEvaluator::RangeEvaluator(const CounterFormula& formula,
                               const WindowGrid& grid, Over over,
                               bool only_windows)
    : formula_(formula),
      grid_(grid),
      over_(over),
      only_windows_(only_windows) {}

void RangeEvaluator::Add(const RawSample& sample, absl::Duration interval) {
  if (!last_.has_value()) {
    interval_ = interval;
    per_sample_ = !only_windows_ && grid_.step > absl::ZeroDuration() &&
                  grid_.step <= interval;
    if (!per_sample_) {
      windows_.resize(grid_.count());
      if (!formula_.uses_two_samples()) newest_in_window_.resize(grid_.count());
    }
  }
  std::optional<Piece> piece;
  if (formula_.uses_two_samples() && last_.has_value()) {
    piece = MakePiece(formula_, *last_, sample, interval);
  }
  const absl::Time time = TimeOf(sample);
  if (time > grid_.end) return;
  last_ = sample;
  if (time <= grid_.start) return;

  const auto add_to = [&](WindowAccumulator& window) {
    if (piece.has_value()) {
      window.AddPiece(formula_, over_, *piece);
    } else if (!formula_.uses_two_samples()) {
      window.AddSample(formula_, over_, sample);
    }
  };
  add_to(total_);
  ++samples_;
  if (per_sample_) return AddPerSample(sample, piece);
  const int64_t window = grid_.WindowOf(time);
  if (window > grid_.count()) return;  // in the rest of a window
  add_to(windows_[window - 1]);
  if (!newest_in_window_.empty()) newest_in_window_[window - 1] = sample;
}

void RangeEvaluator::AddPerSample(const RawSample& sample,
                                  const std::optional<Piece>& piece) {
  WindowValue value;
  if (!formula_.uses_two_samples()) {
    value.result = CalculateSample(formula_, sample);
  } else if (!piece.has_value()) {
    value.result = CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  } else if (!piece->sound()) {
    value.result = piece->problem;
  } else {
    value.result = CalculateGrowth(formula_, piece->growth);
  }
  points_.push_back({TimeOf(sample), value});
}

std::optional<absl::Time> RangeEvaluator::newest() const {
  if (!last_.has_value()) return std::nullopt;
  return TimeOf(*last_);
}

WindowValue RangeEvaluator::Total() const {
  WindowValue total = total_.Finish(formula_, over_, grid_.end - grid_.start);
  if (total_.empty() && samples_ > 0) {
    total.result = CalculatedValue::Of(ValueStatus::kNeedTwoSamples);
  }
  return total;
}

std::vector<Point> RangeEvaluator::Finish(
    bool goes_on, const std::vector<Loss>& losses) const {
  if (samples_ == 0) return {};
  std::vector<Point> points = per_sample_ ? FinishSamples(goes_on)
                              : grid_.step == absl::ZeroDuration()
                                  ? std::vector<Point>{{grid_.end, Total()}}
                                  : FinishWindows(goes_on);
  absl::Time start = grid_.start;
  for (Point& point : points) {
    Explain(start, point.time, losses, &point.value);
    start = point.time;
  }
  return points;
}

std::vector<Point> RangeEvaluator::FinishWindows(bool goes_on) const {
  const auto has_data = [](const WindowAccumulator& window) {
    return !window.empty();
  };
  const auto first = std::find_if(windows_.begin(), windows_.end(), has_data);
  const auto last = std::find_if(windows_.rbegin(), windows_.rend(), has_data);
  std::vector<Point> points;
  if (first == windows_.end()) return points;
  const size_t end = goes_on ? windows_.size() : windows_.rend() - last;
  std::optional<RawSample> carried;
  for (size_t i = first - windows_.begin(); i < end; ++i) {
    Point point{grid_.EndOf(static_cast<int64_t>(i) + 1),
                windows_[i].Finish(formula_, over_, grid_.length())};
    if (!newest_in_window_.empty()) {
      if (newest_in_window_[i].has_value()) {
        carried = newest_in_window_[i];
      } else if (carried.has_value() && point.time - TimeOf(*carried) <=
                                            interval_ * kMaxIntervalsApart) {
        // The newest sample before the end of the window still holds.
        const CalculatedValue held = CalculateSample(formula_, *carried);
        point.value = {.result = held, .coverage = held.ok() ? 1.0 : 0.0};
      }
    }
    points.push_back(point);
  }
  return points;
}

std::vector<Point> RangeEvaluator::FinishSamples(bool goes_on) const {
  std::vector<Point> points = points_;
  if (goes_on && !points.empty() &&
      grid_.end - points.back().time > interval_ * kMaxIntervalsApart) {
    WindowValue gap{.coverage = 0};
    gap.result = CalculatedValue::Gap(GapCause::kNoSamples);
    points.push_back({grid_.end, gap});
  }
  return points;
}

}  // namespace fleetperf::aggregator
