// A source over PerfLib's functions, for this machine or a remote one.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_SOURCE_H_

#include <memory>
#include <string>

#include "agent/source/source.h"
#include "agent/source/windows/perflib_functions.h"

namespace fleetperf::agent {

// `machine` is a network name; empty means this machine. Construction calls no
// function. Error messages include advice: a missing function is Unimplemented,
// denied access is PermissionDenied, an unreachable machine is Unavailable.
// Data from PerfLib is untrusted: a size beyond the buffer's is DataLoss.
// A remote machine can list only 256 countersets; if it has more, the source
// lists those of this machine, of which the remote one may lack some.
std::unique_ptr<Source> MakePerfLibSource(const PerfLibFunctions& functions,
                                          const std::string& machine);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_SOURCE_H_
