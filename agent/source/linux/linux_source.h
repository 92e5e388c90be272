// PerfLib on Linux: countersets read from /proc and /sys, served as PerfLib
// blocks.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_LINUX_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_LINUX_SOURCE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/source/linux/disk/filesystems.h"
#include "agent/source/linux/disk/space_probes.h"
#include "agent/source/linux/system/clock_discipline.h"
#include "agent/source/source.h"
#include "base/os/clock.h"
#include "driver/perf_event/system.h"

namespace fleetperf::agent {

struct LinuxSourceOptions {
  // The directory that holds proc and sys: "" on a real machine.
  std::string root;
  const Clock* clock = &Clock::Real();
  // The maximum number of files kept open for processes.
  size_t max_open_files = 1024;
  // For events, and the maximum number of their descriptors.
  perf_event::System* events = &perf_event::LinuxSystem();
  size_t max_event_descriptors = 1024;
  std::function<std::optional<ClockDiscipline>()> read_clock_discipline =
      &ReadClockDiscipline;
  // The maximum number of files kept open for cgroups.
  size_t max_cgroup_files = 512;
  // For filesystems, which may hang.
  AskForSpace ask_for_space = SpaceOf;
  absl::Duration filesystem_patience = Filesystems::kPatience;
};

std::unique_ptr<Source> MakeLinuxSource(const LinuxSourceOptions& options);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_LINUX_SOURCE_H_
