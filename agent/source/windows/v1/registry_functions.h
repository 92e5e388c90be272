// The Windows functions that read counters of PerfLib V1: those of the registry
// for HKEY_PERFORMANCE_DATA.
//
// They are resolved at run time, so that tests can replace them. Source:
// Microsoft's documentation of winreg.h.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_V1_REGISTRY_FUNCTIONS_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_V1_REGISTRY_FUNCTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace fleetperf::agent {

// HKEY_PERFORMANCE_DATA: a 32-bit handle, sign-extended.
inline void* PerformanceDataKey() {
  return reinterpret_cast<void*>(intptr_t{-0x7FFFFFFC});  // 0x80000004
}

// Each function returns a Win32 error code. Names are NUL-terminated UTF-16. A
// null pointer stands for a function that a DLL lacks. Thread-safe.
struct RegistryFunctions {
  // RegConnectRegistryW
  uint32_t (*connect_registry)(const char16_t* machine, void* key,
                               void** connected) = nullptr;
  // RegQueryValueExW. ERROR_MORE_DATA means that `*size` bytes are too few; the
  // size then returned has no meaning.
  uint32_t (*query_value)(void* key, const char16_t* name, uint32_t* reserved,
                          uint32_t* type, void* data, uint32_t* size) = nullptr;
  // RegCloseKey. For HKEY_PERFORMANCE_DATA, it unloads the providers' DLLs.
  uint32_t (*close_key)(void* key) = nullptr;
};

// Resolves the functions of the DLL at `path`, or of the Windows advapi32.dll
// if `path` is empty. The DLL stays loaded.
absl::StatusOr<RegistryFunctions> LoadRegistryFunctions(
    const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_V1_REGISTRY_FUNCTIONS_H_
