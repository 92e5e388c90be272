#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/process_usage.h"

namespace fleetperf {
namespace {

uint64_t CountEntries(const char* path) {
  DIR* directory = opendir(path);
  if (directory == nullptr) return 0;
  uint64_t entries = 0;
  while (const dirent* entry = readdir(directory)) {
    entries += entry->d_name[0] != '.';
  }
  closedir(directory);
  return entries;
}

// Returns the second number of /proc/self/statm, which is in pages, as bytes.
uint64_t ResidentBytes() {
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long resident = 0;  // NOLINT(runtime/int): read by %lu
  if (std::fscanf(file, "%*u %lu", &resident) != 1) resident = 0;
  std::fclose(file);
  return uint64_t{resident} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

ProcessUsage GetProcessUsage() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return {
      .cpu_time = absl::DurationFromTimeval(usage.ru_utime) +
                  absl::DurationFromTimeval(usage.ru_stime),
      .resident_bytes = ResidentBytes(),
      .threads = CountEntries("/proc/self/task"),
      // The directory listing itself uses one descriptor.
      .open_files = std::max<uint64_t>(CountEntries("/proc/self/fd"), 1) - 1};
}

}  // namespace fleetperf
