#include <windows.h>
#include <psapi.h>

#include "absl/strings/str_cat.h"
#include "base/os/os.h"
#include "base/os/wide_windows.h"

namespace fleetperf {
namespace {

absl::Duration FromFileTime(const FILETIME& time) {
  return absl::Nanoseconds(100) *
         (int64_t{time.dwHighDateTime} << 32 | int64_t{time.dwLowDateTime});
}

}  // namespace

std::string HostName() {
  wchar_t name[256];
  DWORD size = std::size(name);
  if (!GetComputerNameExW(ComputerNameDnsHostname, name, &size)) return "";
  return Utf8FromWide({name, size});
}

// RtlGetVersion returns the true version. GetVersionEx does not, unless the
// program has a manifest.
std::string OperatingSystem() {
  using RtlGetVersion = LONG(WINAPI*)(OSVERSIONINFOW*);
  OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
  const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
  const auto get_version = reinterpret_cast<RtlGetVersion>(
      reinterpret_cast<void*>(GetProcAddress(ntdll, "RtlGetVersion")));
  if (get_version == nullptr || get_version(&version) != 0) return "Windows";
  return absl::StrCat("Windows ", version.dwMajorVersion, ".",
                      version.dwMinorVersion, ".", version.dwBuildNumber);
}

// The kernel counts its starts in the registry.
std::string BootId() {
  DWORD count = 0;
  DWORD size = sizeof count;
  const LSTATUS status = RegGetValueW(
      HKEY_LOCAL_MACHINE,
      L"SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Memory "
      L"Management\\PrefetchParameters",
      L"BootId", RRF_RT_REG_DWORD, nullptr, &count, &size);
  return status == ERROR_SUCCESS ? absl::StrCat(count) : "";
}

// Setup lets the service write there.
std::string DefaultStateDirectory() { return "state"; }

// Windows has no limit of handles that a process could raise.
size_t RaiseOpenFileLimit() { return SIZE_MAX; }

void ShareHeaps() {}

void KeepFilesPrivate() {}

bool StandardErrorIsTerminal() {
  DWORD mode;
  return GetConsoleMode(GetStdHandle(STD_ERROR_HANDLE), &mode) != 0;
}

// Windows has no cheap count of one process's threads.
ProcessUsage GetProcessUsage() {
  ProcessUsage usage;
  const HANDLE self = GetCurrentProcess();
  FILETIME creation, exit, kernel, user;
  if (GetProcessTimes(self, &creation, &exit, &kernel, &user)) {
    usage.cpu_time = FromFileTime(kernel) + FromFileTime(user);
  }
  PROCESS_MEMORY_COUNTERS memory = {};
  if (GetProcessMemoryInfo(self, &memory, sizeof(memory))) {
    usage.resident_bytes = memory.WorkingSetSize;
  }
  DWORD handles = 0;
  if (GetProcessHandleCount(self, &handles)) usage.open_files = handles;
  return usage;
}

}  // namespace fleetperf
