#include "tests/aggregator/query/reference_evaluator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tests/aggregator/query/reference_ticks.h"

namespace fleetperf::testing {
namespace {

using Real = long double;

bool IsOfTwoSamples(Arithmetic arithmetic) {
  return arithmetic != Arithmetic::kValue &&
         arithmetic != Arithmetic::kFraction &&
         arithmetic != Arithmetic::kElapsed;
}

bool HasBase(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::kPercentOfBase ||
         arithmetic == Arithmetic::kPerBase ||
         arithmetic == Arithmetic::kSecondsPerBase;
}

// The contribution of a sample, or of two neighbors, to the window at `time`.
struct Said {
  int64_t time = 0;  // of the newer sample
  int64_t since = 0;
  int64_t length = 0;  // in 100 ns of the clock that does not step
  int64_t interval = 0;
  ValueStatus status = ValueStatus::kOk;
  GapCause cause = GapCause::kNone;
  Real value = 0;  // for one-sample formulas
  Real n = 0;      // growth, in units in which it can be added up
  Real d = 0;
  uint64_t whole_d = 0;  // the exact growth, to detect 0

  bool ok() const { return status == ValueStatus::kOk; }
};

void Fail(ValueStatus status, GapCause cause, Said* said) {
  said->status = status;
  said->cause = cause;
}

std::optional<uint64_t> Growth(uint64_t older, uint64_t newer, bool wraps) {
  if (newer >= older) return newer - older;
  constexpr uint64_t kRange = uint64_t{1} << 32;
  const uint64_t wrapped = newer + kRange - older;
  if (wraps && wrapped < kRange / 2) return wrapped;
  return std::nullopt;
}

std::optional<Real> Divide(Arithmetic arithmetic, Real n, Real d,
                           bool any_denominator) {
  if (arithmetic == Arithmetic::kGrowth) return n;
  if (!any_denominator) return std::nullopt;
  switch (arithmetic) {
    case Arithmetic::kPercentOfStamp:
    case Arithmetic::kPercentOfBase:
      return 100 * n / d;
    case Arithmetic::kIdlePercentOf100Ns:
      return 100 * (1 - n / d);
    default:
      return n / d;
  }
}

Said SayOfSample(const ReferenceSeries& series, const ReferenceSample& sample) {
  Said said{.time = sample.time, .interval = sample.interval};
  if (!sample.value.has_value()) {
    Fail(ValueStatus::kGap, GapCause::kNoValue, &said);
    return said;
  }
  const Real n = static_cast<Real>(*sample.value);
  const Real d = static_cast<Real>(sample.denominator.value_or(0));
  const Real f = static_cast<Real>(sample.frequency.value_or(0));
  switch (series.arithmetic) {
    case Arithmetic::kFraction:
      if (d == 0) {
        said.status = ValueStatus::kZeroDenominator;
      } else {
        said.value = 100 * n / d;
      }
      break;
    case Arithmetic::kElapsed:
      if (!sample.denominator.has_value()) {
        said.status = ValueStatus::kZeroDenominator;
      } else if (f == 0) {
        said.status = ValueStatus::kBadFrequency;
      } else if (d < n) {
        said.status = ValueStatus::kNegativeValue;
      } else {
        said.value = (d - n) / f;
      }
      break;
    default:
      said.value = n;
  }
  return said;
}

void SayGrowth(const ReferenceSeries& series, const ReferenceSample& older,
               const ReferenceSample& newer, Said* said) {
  const Arithmetic arithmetic = series.arithmetic;
  if (HasBase(arithmetic) &&
      !(older.denominator.has_value() && newer.denominator.has_value())) {
    return Fail(ValueStatus::kZeroDenominator, GapCause::kNone, said);
  }
  const auto n = Growth(*older.value, *newer.value, series.value_wraps);
  if (!n.has_value()) {
    return Fail(ValueStatus::kNegativeValue, GapCause::kNone, said);
  }
  const int64_t stamp = newer.stamp - older.stamp;
  const Real freq = static_cast<Real>(newer.freq);
  said->n = static_cast<Real>(*n);
  switch (arithmetic) {
    case Arithmetic::kPerSecond:
    case Arithmetic::kPercentOfStamp:
      if (stamp < 0) {
        return Fail(ValueStatus::kNegativeDenominator, GapCause::kNone, said);
      }
      if (arithmetic == Arithmetic::kPercentOfStamp) said->n /= freq;
      said->d = static_cast<Real>(stamp) / freq;
      said->whole_d = static_cast<uint64_t>(stamp);
      return;
    case Arithmetic::kIdlePercentOf100Ns:
      if (newer.time < older.time) {
        return Fail(ValueStatus::kNegativeDenominator, GapCause::kNone, said);
      }
      said->d = static_cast<Real>(newer.time - older.time);
      said->whole_d = static_cast<uint64_t>(newer.time - older.time);
      return;
    default:
      break;
  }
  if (!HasBase(arithmetic)) return;
  const auto d =
      Growth(*older.denominator, *newer.denominator, series.denominator_wraps);
  if (!d.has_value()) {
    return Fail(ValueStatus::kNegativeDenominator, GapCause::kNone, said);
  }
  if (arithmetic == Arithmetic::kSecondsPerBase) said->n /= freq;
  said->d = static_cast<Real>(*d);
  said->whole_d = *d;
}

Said SayOfNeighbours(const ReferenceSeries& series,
                     const ReferenceSample& older,
                     const ReferenceSample& newer) {
  const int64_t length =
      (newer.stamp - older.stamp) / (newer.freq / kTicksPerSecond);
  Said said{.time = newer.time,
            .since = older.time,
            .length = length,
            .interval = newer.interval};
  const int64_t of_day = newer.time - older.time;
  const int64_t tolerance = kTicksPerSecond / 20 + length / 100;
  if (older.epoch != newer.epoch) {
    Fail(ValueStatus::kGap, GapCause::kAgentRestart, &said);
  } else if (older.life != newer.life) {
    Fail(ValueStatus::kGap, GapCause::kNewLife, &said);
  } else if (!older.value.has_value() || !newer.value.has_value()) {
    Fail(ValueStatus::kGap, GapCause::kNoValue, &said);
  } else if (IsTooFar(length, newer.interval)) {
    Fail(ValueStatus::kGap, GapCause::kNoSamples, &said);
  } else if (older.freq != newer.freq ||
             std::max(of_day - length, length - of_day) > tolerance) {
    Fail(ValueStatus::kGap, GapCause::kClockStep, &said);
  } else {
    SayGrowth(series, older, newer, &said);
  }
  return said;
}

// Whether a number fell, stayed there, and grows to the value before the fall,
// or above it, in sample `i`, within 5.5 intervals.
bool HasReturned(const ReferenceSeries& series,
                 const std::vector<ReferenceSample>& samples, size_t i,
                 std::optional<uint64_t> ReferenceSample::*number, bool wraps) {
  int64_t length = 0;
  for (size_t j = i; j > 0; --j) {
    const Said said = SayOfNeighbours(series, samples[j - 1], samples[j]);
    if (!said.ok() && said.status != ValueStatus::kNegativeValue &&
        said.status != ValueStatus::kNegativeDenominator) {
      return false;
    }
    length += said.length;
    const uint64_t older = *(samples[j - 1].*number);
    const uint64_t newer = *(samples[j].*number);
    if (j == i) continue;
    if (!Growth(older, newer, wraps).has_value()) {
      return *(samples[i].*number) >= older &&
             2 * length <= 11 * samples[i].interval;
    }
    if (newer != older) return false;
  }
  return false;
}

Said SayOfPiece(const ReferenceSeries& series,
                const std::vector<ReferenceSample>& samples, size_t i) {
  Said said = SayOfNeighbours(series, samples[i - 1], samples[i]);
  if (!said.ok()) return said;
  if (HasReturned(series, samples, i, &ReferenceSample::value,
                  series.value_wraps)) {
    Fail(ValueStatus::kNegativeValue, GapCause::kNone, &said);
  } else if (HasBase(series.arithmetic) &&
             HasReturned(series, samples, i, &ReferenceSample::denominator,
                         series.denominator_wraps)) {
    Fail(ValueStatus::kNegativeDenominator, GapCause::kNone, &said);
  }
  return said;
}

// Returns the value of two neighbors.
Said Alone(Arithmetic arithmetic, Said said) {
  if (!said.ok() || !IsOfTwoSamples(arithmetic)) return said;
  const auto value = Divide(arithmetic, said.n, said.d, said.whole_d > 0);
  if (value.has_value()) {
    said.value = *value;
  } else {
    said.status = ValueStatus::kZeroDenominator;
  }
  return said;
}

Real Combine(Over over, const std::vector<Said>& values) {
  Real sum = 0;
  Real smallest = values.front().value;
  Real largest = smallest;
  for (const Said& said : values) {
    sum += said.value;
    smallest = std::min(smallest, said.value);
    largest = std::max(largest, said.value);
  }
  switch (over) {
    case Over::kMinimum:
      return smallest;
    case Over::kMaximum:
      return largest;
    case Over::kLast:
      return values.back().value;
    case Over::kSum:
      return sum;
    default:
      return sum / static_cast<Real>(values.size());
  }
}

GapCause CauseOfBreak(const Said& said) {
  if (said.status == ValueStatus::kGap) return said.cause;
  return said.status == ValueStatus::kNegativeValue ||
                 said.status == ValueStatus::kNegativeDenominator
             ? GapCause::kReset
             : GapCause::kNoValue;
}

double CoverageOf(const std::vector<Said>& sound, bool any_break, int64_t start,
                  int64_t end) {
  int64_t covered = 0;
  int64_t longest = 0;
  int64_t since = sound.front().since;
  for (const Said& said : sound) {
    covered += said.length;
    longest = std::max(longest, said.length);
    since = std::min(since, said.since);
  }
  if (!any_break && since <= start && end - start - covered < longest) return 1;
  return std::min(
      1.0, static_cast<double>(covered) / static_cast<double>(end - start));
}

// Combines the contributions in (start, end].
ReferencePoint EvaluateWindow(Arithmetic arithmetic, Over over,
                              const std::vector<Said>& all,
                              const std::vector<ReferenceInterval>& intervals,
                              int64_t start, int64_t end) {
  const bool two = IsOfTwoSamples(arithmetic);
  if (arithmetic == Arithmetic::kElapsed && over == Over::kFormula) {
    over = Over::kLast;
  }
  std::vector<Said> sound;
  std::vector<Said> breaks;
  for (const Said& said : all) {
    if (said.time <= start || said.time > end) continue;
    const Said alone =
        two && over == Over::kFormula ? said : Alone(arithmetic, said);
    (alone.ok() ? sound : breaks).push_back(alone);
  }
  ReferencePoint point{.time = end,
                       .breaks = static_cast<uint32_t>(breaks.size())};
  if (sound.empty()) {
    point.coverage = 0;
    point.status = breaks.empty() ? ValueStatus::kGap : breaks.back().status;
    point.cause = breaks.empty() ? GapCause::kNoSamples : breaks.back().cause;
    return point;
  }
  if (two) point.coverage = CoverageOf(sound, !breaks.empty(), start, end);
  if (two && over == Over::kFormula) {
    Real n = 0;
    Real d = 0;
    bool any_denominator = false;
    for (const Said& said : sound) {
      n += said.n;
      d += said.d;
      any_denominator = any_denominator || said.whole_d > 0;
    }
    const auto value = Divide(arithmetic, n, d, any_denominator);
    if (!value.has_value()) {
      point.status = ValueStatus::kZeroDenominator;
      return point;
    }
    point.value = static_cast<double>(*value);
  } else {
    point.value = static_cast<double>(Combine(over, sound));
  }
  if (!breaks.empty()) point.cause = CauseOfBreak(breaks.back());
  point.presence = PresenceOf(intervals, start, end);
  return point;
}

ReferencePoint NoSamples(int64_t time) {
  return {.time = time,
          .status = ValueStatus::kGap,
          .cause = GapCause::kNoSamples,
          .coverage = 0};
}

// The value of a window that ends at `end`. `start`: that of the first window
// without samples.
ReferencePoint HeldValue(Arithmetic arithmetic, const Said& newest,
                         const std::vector<ReferenceInterval>& intervals,
                         int64_t start, int64_t end) {
  const bool is_absent = std::any_of(
      intervals.begin(), intervals.end(), [&](const ReferenceInterval& one) {
        return start < one.time && one.time <= end;
      });
  if (IsOfTwoSamples(arithmetic) || is_absent ||
      IsTooFar(end - newest.time, newest.interval)) {
    return NoSamples(end);
  }
  return {.time = end,
          .status = newest.status,
          .cause = newest.cause,
          .value = static_cast<double>(newest.value),
          .coverage = newest.ok() ? 1.0 : 0.0};
}

// The windows with samples, by number. A sample whose interval is at least the
// step is a point of its own.
struct ReferenceWindows {
  struct Window {
    std::vector<Said> inside;
    bool follows_points = false;  // of samples
  };
  std::map<int64_t, Window> windows;
  std::vector<ReferencePoint> points;  // of samples
  bool ends_with_point = false;

  void Add(Arithmetic arithmetic, const ReferenceRange& range,
           const std::optional<int64_t>& last, const Said& said) {
    const bool is_point = range.step <= said.interval;
    const bool has_pieces = IsOfTwoSamples(arithmetic);
    if (!is_point && said.status == ValueStatus::kNeedTwoSamples) return;
    if ((is_point || ends_with_point) && !has_pieces && last.has_value() &&
        *last > range.start && IsTooFar(said.time - *last, said.interval)) {
      points.push_back(NoSamples(*last + said.interval));
    }
    if (is_point) {
      const Said alone = Alone(arithmetic, said);
      points.push_back({.time = said.time,
                        .status = alone.status,
                        .cause = alone.cause,
                        .value = static_cast<double>(alone.value)});
      ends_with_point = true;
      return;
    }
    const int64_t number = (said.time - range.start - 1) / range.step;
    if (windows.empty() || number > windows.rbegin()->first) {
      windows[number].follows_points = std::exchange(ends_with_point, false);
    }
    windows[number].inside.push_back(said);
  }

  void Finish(Arithmetic arithmetic, const ReferenceRange& range,
              const std::vector<ReferenceInterval>& intervals,
              const Said& newest, bool goes_on) {
    const int64_t whole = (range.end - range.start) / range.step;
    for (auto window = windows.begin(); window != windows.end(); ++window) {
      const auto next = std::next(window);
      const int64_t start = range.start + window->first * range.step;
      points.push_back(EvaluateWindow(arithmetic, range.over,
                                      window->second.inside, intervals, start,
                                      std::min(start + range.step, range.end)));
      int64_t end = window->first + 1;  // of the empty windows that follow
      if (next == windows.end()) {
        if (goes_on && !ends_with_point) end = whole;
      } else if (!next->second.follows_points) {
        end = next->first;
      }
      for (int64_t number = window->first + 1; number < end; ++number) {
        points.push_back(HeldValue(arithmetic, window->second.inside.back(),
                                   intervals, start + range.step,
                                   range.start + (number + 1) * range.step));
      }
    }
    if (goes_on && ends_with_point &&
        IsTooFar(range.end - newest.time, newest.interval)) {
      points.push_back(NoSamples(range.end));
    }
    std::stable_sort(points.begin(), points.end(),
                     [](const ReferencePoint& a, const ReferencePoint& b) {
                       return a.time < b.time;
                     });
  }
};

// The coverage of the value over the range of a formula with one sample.
double CoverageOfSamples(const std::vector<ReferenceInterval>& intervals,
                         int64_t interval, const ReferenceRange& range) {
  int64_t covered = 0;
  for (const ReferenceInterval& one : intervals) {
    const bool is_inside = range.start < one.time && one.time <= range.end;
    if (is_inside && one.state == ReferenceInterval::State::kSound) {
      covered += one.length;
    }
  }
  const int64_t length = range.end - range.start;
  if (covered == 0) covered = interval;
  if (2 * (length - covered) < 5 * interval) return 1;
  return static_cast<double>(covered) / static_cast<double>(length);
}

// Sets the cause of gaps without a known cause from the losses.
void NameLosses(const ReferenceMachine& machine, const ReferenceRange& range,
                std::vector<ReferencePoint>* points) {
  int64_t start = range.start;
  for (ReferencePoint& point : *points) {
    const bool unexplained =
        point.cause == GapCause::kNoSamples ||
        (point.cause == GapCause::kNone && point.coverage < 1);
    for (const ReferenceLoss& loss : machine.losses) {
      if (unexplained && loss.start <= point.time && loss.end > start) {
        point.cause = machine.loss_cause;
      }
    }
    start = point.time;
  }
}

// Whether the piece between two samples counts: the older one is not more than
// three intervals before the range.
bool IsOlderOne(const ReferenceRange& range, const ReferenceSample& older,
                const ReferenceSample& newer) {
  return !range.forgets || newer.time <= range.start ||
         older.time >= range.start - 3 * newer.interval;
}

}  // namespace

ReferenceAnswer EvaluateReference(const ReferenceMachine& machine,
                                  const ReferenceSeries& series,
                                  const ReferenceRange& range) {
  const Arithmetic arithmetic = series.arithmetic;
  std::vector<ReferenceSample> samples;
  for (const ReferenceSample& sample : series.samples) {
    if (sample.time >= range.known_from && sample.time <= range.end) {
      samples.push_back(sample);
    }
  }
  const std::vector<size_t> ticks = KnownTicks(machine, range);
  std::vector<Said> all;
  std::vector<Said> of_tick(machine.ticks.size());
  std::vector<bool> is_piece(machine.ticks.size());
  bool any_inside = false;
  for (size_t i = 0; i < samples.size(); ++i) {
    const ReferenceSample& sample = samples[i];
    any_inside = any_inside || sample.time > range.start;
    if (!IsOfTwoSamples(arithmetic)) {
      all.push_back(SayOfSample(series, sample));
      is_piece[sample.tick] = true;
      of_tick[sample.tick] = all.back();
      continue;
    }
    const ReferenceTick* before = TickBefore(machine, ticks, sample.tick);
    if (sample.is_born && before != nullptr &&
        IsJoined(*before, machine.ticks[sample.tick])) {
      all.push_back(
          SayOfNeighbours(series, BeforeBirth(sample, *before), sample));
      is_piece[sample.tick] = true;
      of_tick[sample.tick] = all.back();
    } else if (i > 0 && IsOlderOne(range, samples[i - 1], sample)) {
      all.push_back(SayOfPiece(series, samples, i));
      is_piece[sample.tick] = before == &machine.ticks[samples[i - 1].tick];
      of_tick[sample.tick] = all.back();
    } else {
      all.push_back({.time = sample.time,
                     .interval = sample.interval,
                     .status = ValueStatus::kNeedTwoSamples});
    }
  }
  std::vector<ReferenceInterval> intervals;
  for (size_t i = 1; i < ticks.size(); ++i) {
    const ReferenceTick& older = machine.ticks[ticks[i - 1]];
    const ReferenceTick& newer = machine.ticks[ticks[i]];
    if (!IsJoined(older, newer)) continue;
    intervals.push_back(
        {.time = newer.time,
         .length = (newer.stamp - older.stamp) / (newer.freq / kTicksPerSecond),
         .state = !is_piece[ticks[i]] ? ReferenceInterval::State::kAbsent
                  : of_tick[ticks[i]].ok()
                      ? ReferenceInterval::State::kSound
                      : ReferenceInterval::State::kBroken});
  }
  ReferenceAnswer answer;
  if (!any_inside) return answer;
  const bool goes_on = GoesOn(machine, range, samples.back().time);
  std::vector<Said> inside = all;
  std::erase_if(inside, [&](const Said& said) {
    return said.time <= range.start ||
           said.status == ValueStatus::kNeedTwoSamples;
  });
  answer.total = EvaluateWindow(arithmetic, range.over, inside, intervals,
                                range.start, range.end);
  if (!IsOfTwoSamples(arithmetic) && answer.total.status == ValueStatus::kOk) {
    answer.total.coverage =
        CoverageOfSamples(intervals, all.back().interval, range);
  }
  if (inside.empty()) {
    answer.total.status = ValueStatus::kNeedTwoSamples;
    answer.total.cause = GapCause::kNone;
  }
  if (range.step == 0) {
    answer.points = {answer.total};
  } else {
    ReferenceWindows windows;
    std::optional<int64_t> last;
    for (const Said& said : all) {
      if (said.time > range.start) windows.Add(arithmetic, range, last, said);
      last = said.time;
    }
    windows.Finish(arithmetic, range, intervals, all.back(), goes_on);
    answer.points = std::move(windows.points);
  }
  NameLosses(machine, range, &answer.points);
  return answer;
}

}  // namespace fleetperf::testing
