// The sources that this build has.

#ifndef FLEETPERF_AGENT_SOURCE_SOURCES_H_
#define FLEETPERF_AGENT_SOURCE_SOURCES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/source/source.h"

namespace fleetperf::agent {

// This machine's own source; Windows alone has a DLL of PerfLib's functions,
// which is Windows' own if `perflib_dll` is empty.
absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(
    const std::string& perflib_dll);

// Another machine's. Unimplemented where there is no way to one.
absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const std::string& perflib_dll, const std::string& machine);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_SOURCES_H_
