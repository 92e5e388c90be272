// The commands of fleetperf-pmc, except for `stat` (stat.h).

#ifndef FLEETPERF_DRIVER_PMC_COMMANDS_H_
#define FLEETPERF_DRIVER_PMC_COMMANDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {

// `list`: returns what this CPU can count, as text or one JSON object that ends
// with a newline. Asks CPUID, the
// operating system and the reader; programs nothing.
std::string DescribeMachine(const Machine& machine, bool json);

// `rdpmc`: opens RDPMC to the user mode of all programs. Warns on standard
// error, programs the counters, prints to standard output
// which RDPMC index counts what, and holds RDPMC open for `time`. RDPMC is
// closed, and all registers are restored, on return.
//   InvalidArgument   `time` is not from 1s to 24h
//   Unimplemented     the system does not open RDPMC to other programs (Linux)
//   errors of Machine::open_reader and of HardwareReader::Update
absl::Status RunRdpmc(const Machine& machine, absl::Duration time);

struct TopOptions {
  absl::Duration interval = absl::Seconds(1);
  uint32_t count = 0;  // of tables; 0: until the process is stopped
  bool json = false;   // an object per row and interval
};

// `top`: prints a table of all CPUs and sockets at each interval to standard
// output. On a terminal, each table replaces the last one.
absl::Status RunTop(const Machine& machine, const TopOptions& options);

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_COMMANDS_H_
