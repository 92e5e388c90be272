#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "absl/strings/ascii.h"
#include "base/files.h"
#include "base/os.h"

namespace fleetperf {
namespace {

utsname SystemName() {
  utsname name = {};
  uname(&name);
  return name;
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

}  // namespace fleetperf
