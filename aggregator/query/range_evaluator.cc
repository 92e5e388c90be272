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
      return GapCause::kSpoolFull;
    case LossCause::kSpoolExpired:
      return GapCause::kSpoolExpired;
    case LossCause::kSpoolDamaged:
      return GapCause::kSpoolDamaged;
    case LossCause::kDiskFull:
      return GapCause::kDiskFull;
    case LossCause::kPowerCut:
      return GapCause::kPowerCut;
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

WindowValue NoSamples() {
  WindowValue gap{.coverage = 0};
  gap.result = CalculatedValue::Gap(GapCause::kNoSamples);
  return gap;
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
    per_sample_ = !only_windows_ && grid_.step > absl::ZeroDuration() &&
                  grid_.step <= interval;
  }
  std::optional<Piece> piece;
  if (formula_.uses_two_samples() && last_.has_value()) {
    piece = MakePiece(formula_, *last_, sample, interval);
  }
  const absl::Time time = TimeOf(sample);
  if (time > grid_.end) return;
  last_ = sample;
  interval_ = interval;
  if (time <= grid_.start) return;

  AddTo(total_, sample, piece);
  ++samples_;
  if (per_sample_) return AddPerSample(sample, piece);
  if (formula_.uses_two_samples() && !piece.has_value()) return;
  const int64_t number = grid_.WindowOf(time);
  if (number > grid_.count()) return;  // in the rest of a window
  Window& window = windows_[number];
  AddTo(window.accumulator, sample, piece);
  if (!formula_.uses_two_samples()) {
    window.newest_time = time;
    window.newest_interval = interval;
    window.newest_value = CalculateSample(formula_, sample);
  }
}

void RangeEvaluator::AddTo(WindowAccumulator& window, const RawSample& sample,
                           const std::optional<Piece>& piece) {
  if (piece.has_value()) {
    window.AddPiece(formula_, over_, *piece);
  } else if (!formula_.uses_two_samples()) {
    window.AddSample(formula_, over_, sample);
  }
}

void RangeEvaluator::AddPerSample(const RawSample& sample,
                                  const std::optional<Piece>& piece) {
  WindowValue value;
  if (!formula_.uses_two_samples()) {
    AddGapBefore(TimeOf(sample));
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

// Two samples with a gap between them have a piece that says so. Where samples
// have values of their own, it must be said between them.
void RangeEvaluator::AddGapBefore(absl::Time time) {
  if (points_.empty()) return;
  const absl::Time last = points_.back().time;
  if (time - last <= interval_ * kMaxIntervalsApart) return;
  points_.push_back({last + interval_, NoSamples()});
}

std::optional<absl::Time> RangeEvaluator::newest() const {
  if (!last_.has_value()) return std::nullopt;
  return TimeOf(*last_);
}

WindowValue RangeEvaluator::Total() const {
  WindowValue total =
      total_.Finish(formula_, over_, grid_.end, grid_.end - grid_.start);
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
  std::vector<Point> points;
  if (windows_.empty()) return points;
  const int64_t last = goes_on ? grid_.count() : windows_.rbegin()->first;
  auto next = windows_.begin();
  for (int64_t number = next->first; number <= last; ++number) {
    Point& point = points.emplace_back(Point{.time = grid_.EndOf(number)});
    if (next != windows_.end() && next->first == number) {
      point.value = next->second.accumulator.Finish(formula_, over_, point.time,
                                                    grid_.length());
      ++next;
    } else {
      point.value = ValueWithoutSamples(std::prev(next)->second, point.time);
    }
  }
  return points;
}

// A window's that ends at `end`, after `last`, the last that has samples.
WindowValue RangeEvaluator::ValueWithoutSamples(const Window& last,
                                                absl::Time end) const {
  if (formula_.uses_two_samples() ||
      end - last.newest_time > last.newest_interval * kMaxIntervalsApart) {
    return NoSamples();
  }
  // The newest sample before the end still holds.
  return {.result = last.newest_value,
          .coverage = last.newest_value.ok() ? 1.0 : 0.0};
}

std::vector<Point> RangeEvaluator::FinishSamples(bool goes_on) const {
  std::vector<Point> points = points_;
  if (goes_on && !points.empty() &&
      grid_.end - points.back().time > interval_ * kMaxIntervalsApart) {
    points.push_back({grid_.end, NoSamples()});
  }
  return points;
}

}  // namespace fleetperf::aggregator
