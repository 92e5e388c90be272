#include <sys/resource.h>
#include <sys/utsname.h>

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

size_t RaiseOpenFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace fleetperf
