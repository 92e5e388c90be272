// The nine functions with which Windows lets programs consume PerfLib V2
// counters, as perflib.h of the Windows SDK declares them.
//
// They are declared here, because mingw-w64 has the provider half alone, and
// resolved at run time, because not every Windows (and no Wine) has all of
// them. Source: Microsoft's documentation of perflib.h.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_FUNCTIONS_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_FUNCTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "perflib/guid.h"

namespace fleetperf::agent {

// Each returns a Win32 error code. `machine` is UTF-16 with a NUL, or null for
// this machine. Sizes are in bytes, those of PerfEnumerateCounterSet in GUIDs;
// ERROR_NOT_ENOUGH_MEMORY means that `*actual` is needed. A pointer that is
// null stands for a function that this Windows does not have. Thread-safe, but
// for one handle at a time.
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

// The functions of a DLL: advapi32.dll of Windows itself if `path` is empty.
// The DLL stays loaded.
absl::StatusOr<PerfLibFunctions> LoadPerfLibFunctions(const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_PERFLIB_FUNCTIONS_H_
