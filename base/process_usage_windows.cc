#include <windows.h>
// after windows.h
#include <psapi.h>

#include "base/process_usage.h"

namespace fleetperf {
namespace {

absl::Duration FromFileTime(const FILETIME& time) {
  return absl::Nanoseconds(100) *
         (int64_t{time.dwHighDateTime} << 32 | int64_t{time.dwLowDateTime});
}

}  // namespace

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
