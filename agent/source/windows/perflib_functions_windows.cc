#include <windows.h>

#include "absl/strings/str_cat.h"
#include "agent/source/windows/perflib_functions.h"
#include "base/os_error.h"
#include "base/wide_windows.h"

namespace fleetperf::agent {
namespace {

template <typename Function>
void Resolve(HMODULE dll, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(
      reinterpret_cast<void*>(GetProcAddress(dll, name)));
}

}  // namespace

absl::StatusOr<PerfLibFunctions> LoadPerfLibFunctions(const std::string& path) {
  // Without a path, the DLL is searched only in the Windows system directory.
  const HMODULE dll = path.empty()
                          ? LoadLibraryExW(L"advapi32.dll", nullptr,
                                           LOAD_LIBRARY_SEARCH_SYSTEM32)
                          : LoadLibraryExW(WideFromUtf8(path).c_str(), nullptr,
                                           LOAD_WITH_ALTERED_SEARCH_PATH);
  if (dll == nullptr) {
    return StatusFromWin32(
        GetLastError(),
        absl::StrCat("cannot load ", path.empty() ? "advapi32.dll" : path));
  }
  PerfLibFunctions functions;
  Resolve(dll, "PerfEnumerateCounterSet", &functions.enumerate_counter_set);
  Resolve(dll, "PerfEnumerateCounterSetInstances",
          &functions.enumerate_counter_set_instances);
  Resolve(dll, "PerfQueryCounterSetRegistrationInfo",
          &functions.query_counter_set_registration_info);
  Resolve(dll, "PerfOpenQueryHandle", &functions.open_query_handle);
  Resolve(dll, "PerfCloseQueryHandle", &functions.close_query_handle);
  Resolve(dll, "PerfAddCounters", &functions.add_counters);
  Resolve(dll, "PerfDeleteCounters", &functions.delete_counters);
  Resolve(dll, "PerfQueryCounterInfo", &functions.query_counter_info);
  Resolve(dll, "PerfQueryCounterData", &functions.query_counter_data);
  return functions;
}

}  // namespace fleetperf::agent
