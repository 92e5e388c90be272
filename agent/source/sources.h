// The sources available on this platform.

#ifndef FLEETPERF_AGENT_SOURCE_SOURCES_H_
#define FLEETPERF_AGENT_SOURCE_SOURCES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/source/source.h"

namespace fleetperf::agent {

// Opens this machine's own source. `perflib_dll` names a DLL that exports
// PerfLib's functions; empty means the Windows DLL. Linux accepts only an empty
// name. `root` is the directory of the machine's root filesystem; empty means
// "/". Windows accepts only an empty directory.
absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(
    const std::string& perflib_dll, const std::string& root);

// Opens the source of another machine. Returns Unimplemented on Linux.
absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const std::string& perflib_dll, const std::string& machine);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_SOURCES_H_
