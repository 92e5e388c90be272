// Facts about the machine and the process.

#ifndef FLEETPERF_BASE_OS_H_
#define FLEETPERF_BASE_OS_H_

#include <cstddef>
#include <string>

namespace fleetperf {

std::string HostName();

// "Linux 6.18.44"
std::string OperatingSystem();

// Something that is another after each start of the machine; empty if there is
// no such thing.
std::string BootId();

// Where the agent keeps what outlives it, unless its configuration says where.
// May be relative: to the configuration's directory.
std::string DefaultStateDirectory();

// Raises the number of files that may be open as far as the system lets it, and
// returns it.
size_t RaiseOpenFileLimit();

// Whether a person sees what is written to standard error.
bool StandardErrorIsTerminal();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_H_
