#include "agent/source/windows/windows_dll.h"

#include <windows.h>

#include "absl/strings/str_cat.h"
#include "base/os_error.h"
#include "base/wide_windows.h"

namespace fleetperf::agent {

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

}  // namespace fleetperf::agent
