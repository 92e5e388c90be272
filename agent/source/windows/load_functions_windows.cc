// Resolves functions of Windows at run time.

#include <windows.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "agent/source/windows/perflib_functions.h"
#include "agent/source/windows/v1/registry_functions.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"

namespace fleetperf::agent {
namespace {

// Stays loaded until the process ends. Immutable, so thread-safe.
class WindowsDll {
 public:
  // Loads the DLL at `path`, or the Windows advapi32.dll if `path` is empty.
  static absl::StatusOr<WindowsDll> Load(const std::string& path);

  // Sets `function` to the exported function `name`, or to null.
  template <typename Function>
  void Resolve(const char* name, Function* function) const {
    *function = reinterpret_cast<Function>(Find(name));
  }

 private:
  explicit WindowsDll(void* dll) : dll_(dll) {}
  void* Find(const char* name) const;

  void* dll_;
};

absl::StatusOr<WindowsDll> WindowsDll::Load(const std::string& path) {
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
  return WindowsDll(dll);
}

void* WindowsDll::Find(const char* name) const {
  return reinterpret_cast<void*>(
      GetProcAddress(static_cast<HMODULE>(dll_), name));
}

}  // namespace

absl::StatusOr<PerfLibFunctions> LoadPerfLibFunctions(const std::string& path) {
  ASSIGN_OR_RETURN(const WindowsDll dll, WindowsDll::Load(path));
  PerfLibFunctions functions;
  dll.Resolve("PerfEnumerateCounterSet", &functions.enumerate_counter_set);
  dll.Resolve("PerfEnumerateCounterSetInstances",
              &functions.enumerate_counter_set_instances);
  dll.Resolve("PerfQueryCounterSetRegistrationInfo",
              &functions.query_counter_set_registration_info);
  dll.Resolve("PerfOpenQueryHandle", &functions.open_query_handle);
  dll.Resolve("PerfCloseQueryHandle", &functions.close_query_handle);
  dll.Resolve("PerfAddCounters", &functions.add_counters);
  dll.Resolve("PerfDeleteCounters", &functions.delete_counters);
  dll.Resolve("PerfQueryCounterInfo", &functions.query_counter_info);
  dll.Resolve("PerfQueryCounterData", &functions.query_counter_data);
  return functions;
}

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
