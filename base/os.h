// Facts about the machine and limits of the process.

#ifndef FLEETPERF_BASE_OS_H_
#define FLEETPERF_BASE_OS_H_

#include <cstddef>
#include <string>

namespace fleetperf {

std::string HostName();

// "Linux 6.18.44"
std::string OperatingSystem();

// Raises the number of files that may be open as far as the system lets it, and
// returns it.
size_t RaiseOpenFileLimit();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_H_
