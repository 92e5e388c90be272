#include "agent/source/windows/v1/registry_functions.h"
#include "agent/source/windows/windows_dll.h"
#include "base/status_macros.h"

namespace fleetperf::agent {

absl::StatusOr<RegistryFunctions> LoadRegistryFunctions(
    const std::string& path) {
  ASSIGN_OR_RETURN(const WindowsDll dll, WindowsDll::Load(path));
  RegistryFunctions functions;
  dll.Resolve("RegConnectRegistryW", &functions.connect_registry);
  dll.Resolve("RegQueryValueExW", &functions.query_value);
  dll.Resolve("RegCloseKey", &functions.close_key);
  return functions;
}

}  // namespace fleetperf::agent
