// A source over PerfLib's functions: this machine's PerfLib or another one's.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_SOURCE_H_

#include <memory>
#include <string>

#include "agent/source/source.h"
#include "agent/source/windows/perflib_functions.h"

namespace fleetperf::agent {

// `machine` is a name in the network; empty means this machine. Nothing is
// called yet. Errors of the source say what to do about them: an absent
// function is Unimplemented, denied access PermissionDenied, a machine that
// cannot be reached Unavailable. What PerfLib returns is not trusted: sizes
// beyond a buffer's are DataLoss.
std::unique_ptr<Source> MakePerfLibSource(const PerfLibFunctions& functions,
                                          const std::string& machine);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_SOURCE_H_
