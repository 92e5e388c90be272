// A reference implementation of the values of windows, directly from the rules:
// each window examines every sample, in plain arithmetic. Slow and simple.

#ifndef FLEETPERF_TESTS_AGGREGATOR_QUERY_REFERENCE_EVALUATOR_H_
#define FLEETPERF_TESTS_AGGREGATOR_QUERY_REFERENCE_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "values/value.h"
#include "values/window.h"

namespace fleetperf::testing {

// The formulas, where N is the counter's value and D that of the base or time
// counter.
enum class Arithmetic : uint8_t {
  kValue,               // N
  kFraction,            // 100 * N / D
  kElapsed,             // (D - N) / F
  kGrowth,              // dN
  kPerSecond,           // dN by seconds
  kPercentOfStamp,      // 100 * dN by ticks of PerfTimeStamp
  kIdlePercentOf100Ns,  // 100 * (1 - dN by 100 ns of the time of day)
  kPercentOfBase,       // 100 * dN / dD
  kPerBase,             // dN / dD
  kSecondsPerBase,      // dN in ticks of PerfTimeStamp, by dD
};

// Times are in 100 ns.
struct ReferenceSample {
  int64_t time = 0;  // of day
  int64_t stamp = 0;
  int64_t freq = 0;  // of the stamp: a multiple of 10 MHz
  int64_t interval = 0;
  uint32_t epoch = 0;
  uint32_t life = 0;
  bool is_born = false;  // whether the life grew from 0 since the tick before;
                         // only in its first sample
  size_t tick = 0;       // position in ReferenceMachine::ticks
  std::optional<uint64_t> value;
  std::optional<uint64_t> denominator;
  std::optional<uint64_t> frequency;
};

struct ReferenceSeries {
  std::string path;  // without the machine
  Arithmetic arithmetic = Arithmetic::kValue;
  bool value_wraps = false;              // 4 bytes, with wrap32 in the plan
  bool denominator_wraps = false;        // 4 bytes
  std::vector<ReferenceSample> samples;  // by epoch and sequence
};

// A tick with a complete list of instances.
struct ReferenceTick {
  int64_t time = 0;
  int64_t stamp = 0;
  int64_t freq = 0;
  uint32_t epoch = 0;
  int64_t interval = 0;
};

struct ReferenceLoss {
  int64_t start = 0;
  int64_t end = 0;
};

struct ReferenceMachine {
  std::string name;
  std::vector<ReferenceSeries> series;  // by path
  std::vector<ReferenceTick> ticks;     // by epoch and sequence
  std::vector<ReferenceLoss> losses;
  GapCause loss_cause = GapCause::kNone;  // of all losses
};

struct ReferenceRange {
  int64_t start = 0;
  int64_t end = 0;
  int64_t step = 0;  // 0: one window
  Over over = Over::kFormula;
  // Earlier samples are unknown.
  int64_t known_from = 0;
  // Whether samples long before the range begin no piece in it. A summary of
  // thinned samples may contain such a piece.
  bool forgets = true;
};

struct ReferencePoint {
  int64_t time = 0;
  ValueStatus status = ValueStatus::kOk;
  GapCause cause = GapCause::kNone;
  double value = 0;
  uint32_t breaks = 0;
  double coverage = 1;
  double presence = 1;

  bool operator==(const ReferencePoint&) const = default;
};

struct ReferenceAnswer {
  std::vector<ReferencePoint> points;
  ReferencePoint total;

  bool operator==(const ReferenceAnswer&) const = default;
};

ReferenceAnswer EvaluateReference(const ReferenceMachine& machine,
                                  const ReferenceSeries& series,
                                  const ReferenceRange& range);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGGREGATOR_QUERY_REFERENCE_EVALUATOR_H_
