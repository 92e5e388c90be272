#include <dirent.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "absl/strings/ascii.h"
#include "base/os/files.h"
#include "base/os/os.h"

namespace fleetperf {
namespace {

utsname SystemName() {
  utsname name = {};
  uname(&name);
  return name;
}

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

std::string HostName() { return SystemName().nodename; }

std::string OperatingSystem() {
  const utsname name = SystemName();
  return std::string(name.sysname) + " " + name.release;
}

std::string BootId() {
  const auto id = ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(absl::StripAsciiWhitespace(*id)) : "";
}

std::string DefaultStateDirectory() { return "/var/lib/fleetperf-agent"; }

void ShareHeaps() {
  // More threads than this rarely allocate at the same time: each has a cache
  // of small blocks, too.
  constexpr int kMaxHeaps = 8;
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  mallopt(M_ARENA_MAX, std::clamp(processors, 2, kMaxHeaps));
}

size_t RaiseOpenFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

void KeepFilesPrivate() { umask(S_IRWXG | S_IRWXO); }

bool StandardErrorIsTerminal() { return isatty(STDERR_FILENO) != 0; }

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
