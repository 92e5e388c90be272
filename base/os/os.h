// Facts about the machine and the process.

#ifndef FLEETPERF_BASE_OS_OS_H_
#define FLEETPERF_BASE_OS_OS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace fleetperf {

std::string HostName();

// "Linux 6.18.44"
std::string OperatingSystem();

// Returns a string that changes at every start of the machine. Empty if the
// system has none.
std::string BootId();

// Returns the default directory for the agent's state. A relative path is
// relative to the configuration's directory.
std::string DefaultStateDirectory();

// Raises the limit of open files as far as the system allows, and returns it.
size_t RaiseOpenFileLimit();

// Makes all threads allocate from a few heaps, so that memory freed by one
// thread serves others. glibc's default is a heap for each thread, up to eight
// for each processor. No effect on Windows, where all threads share a heap.
// Must be called before the process starts threads.
void ShareHeaps();

// Makes the files and directories that the process creates from now on
// accessible to their owner only. No effect on Windows, where they have the
// access list of their folder.
void KeepFilesPrivate();

// Returns whether standard error is shown to a user.
bool StandardErrorIsTerminal();

// The resources that this process uses.
struct ProcessUsage {
  absl::Duration cpu_time;  // user and kernel time of all threads so far
  uint64_t resident_bytes = 0;
  uint64_t threads = 0;
  uint64_t open_files = 0;  // descriptors; handles on Windows
};

// Values that the system does not provide are 0. Thread-safe.
ProcessUsage GetProcessUsage();

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_OS_H_
