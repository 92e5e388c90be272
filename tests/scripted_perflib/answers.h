// The answers of a scenario's machines.

#ifndef FLEETPERF_TESTS_SCRIPTED_PERFLIB_ANSWERS_H_
#define FLEETPERF_TESTS_SCRIPTED_PERFLIB_ANSWERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "perflib/query.h"
#include "tests/scripted_perflib/scenario.h"

namespace fleetperf::testing {

// Returns nullptr if the machine has no such counterset.
const ScriptedCounterset* FindCounterset(const ScriptedMachine& machine,
                                         const perflib::Guid& guid);

// Returns the Status that PerfAddCounters sets for an identifier.
uint32_t CheckIdentifier(const ScriptedMachine& machine,
                         const perflib::CounterIdentifier& identifier);

bool IsSameQuery(const perflib::CounterIdentifier& a,
                 const perflib::CounterIdentifier& b);

// Returns a Win32 error code.
uint32_t RegistrationAnswer(const ScriptedCounterset& counterset,
                            uint32_t request, uint32_t argument,
                            std::string* bytes);

// Returns the block of a handle's tick.
std::string MakeBlock(
    const ScriptedMachine& machine,
    const std::vector<perflib::CounterIdentifier>& identifiers, uint64_t tick,
    absl::Time now);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SCRIPTED_PERFLIB_ANSWERS_H_
