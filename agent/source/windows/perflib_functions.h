// The nine Windows functions that consume PerfLib V2 counters, as declared by
// perflib.h of the Windows SDK.
//
// They are declared here because mingw-w64 declares only the provider
// functions. They are resolved at run time because some versions of Windows
// (and Wine) lack some of them. Source: Microsoft's documentation of perflib.h.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_FUNCTIONS_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_FUNCTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "perflib/guid.h"

namespace fleetperf::agent {

// Each function returns a Win32 error code. `machine` is NUL-terminated UTF-16,
// or null for this machine. Sizes are in bytes, except that
// PerfEnumerateCounterSet counts GUIDs. ERROR_NOT_ENOUGH_MEMORY means that
// `*actual` is the required size. A null pointer stands for a function that
// this Windows lacks. Thread-safe, except that a handle must not be used
// concurrently.
struct PerfLibFunctions {
  uint32_t (*enumerate_counter_set)(const char16_t* machine,
                                    perflib::Guid* guids, uint32_t count,
                                    uint32_t* actual) = nullptr;
  uint32_t (*enumerate_counter_set_instances)(const char16_t* machine,
                                              const perflib::Guid* counterset,
                                              void* instances, uint32_t size,
                                              uint32_t* actual) = nullptr;
  uint32_t (*query_counter_set_registration_info)(
      const char16_t* machine, const perflib::Guid* counterset,
      uint32_t request, uint32_t argument, void* info, uint32_t size,
      uint32_t* actual) = nullptr;
  uint32_t (*open_query_handle)(const char16_t* machine,
                                void** handle) = nullptr;
  uint32_t (*close_query_handle)(void* handle) = nullptr;
  uint32_t (*add_counters)(void* handle, void* identifiers,
                           uint32_t size) = nullptr;
  uint32_t (*delete_counters)(void* handle, void* identifiers,
                              uint32_t size) = nullptr;
  uint32_t (*query_counter_info)(void* handle, void* identifiers, uint32_t size,
                                 uint32_t* actual) = nullptr;
  uint32_t (*query_counter_data)(void* handle, void* block, uint32_t size,
                                 uint32_t* actual) = nullptr;
};

// Resolves the functions of the DLL at `path`, or of the Windows advapi32.dll
// if `path` is empty. The DLL stays loaded.
absl::StatusOr<PerfLibFunctions> LoadPerfLibFunctions(const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_FUNCTIONS_H_
