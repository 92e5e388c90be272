// The ticks of the reference implementation, and the intervals between them.

#ifndef FLEETPERF_TESTS_AGGREGATOR_QUERY_REFERENCE_TICKS_H_
#define FLEETPERF_TESTS_AGGREGATOR_QUERY_REFERENCE_TICKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/aggregator/query/reference_evaluator.h"

namespace fleetperf::testing {

inline constexpr int64_t kTicksPerSecond = 10'000'000;  // of 100 ns

// A tick interval, and where the series was in it.
struct ReferenceInterval {
  enum class State : uint8_t { kSound, kBroken, kAbsent };
  int64_t time = 0;  // of the newer tick
  int64_t length = 0;
  State state = State::kAbsent;
};

// Whether a time is longer than two and a half intervals.
bool IsTooFar(int64_t apart, int64_t interval);

// Whether there is no break between the clocks of two ticks.
bool IsJoined(const ReferenceTick& older, const ReferenceTick& newer);

// Returns the positions of the ticks that are not ignored.
std::vector<size_t> KnownTicks(const ReferenceMachine& machine,
                               const ReferenceRange& range);

// Returns the tick before one of the epoch; nullptr if there is none.
const ReferenceTick* TickBefore(const ReferenceMachine& machine,
                                const std::vector<size_t>& known, size_t tick);

// Whether a series continues after its newest sample: no later tick shows that
// it has ended.
bool GoesOn(const ReferenceMachine& machine, const ReferenceRange& range,
            int64_t newest);

// Returns what a born instance had at the tick before its first sample.
ReferenceSample BeforeBirth(const ReferenceSample& first,
                            const ReferenceTick& tick);

// Returns the presence in (start, end].
double PresenceOf(const std::vector<ReferenceInterval>& intervals,
                  int64_t start, int64_t end);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGGREGATOR_QUERY_REFERENCE_TICKS_H_
