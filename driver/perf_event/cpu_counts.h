// Counts a set of events on every CPU of the machine.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_CPU_COUNTS_H_
#define FLEETPERF_DRIVER_PERF_EVENT_CPU_COUNTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/group.h"
#include "driver/perf_event/scaled_total.h"
#include "driver/perf_event/system.h"
#include "driver/perf_event/values.h"

namespace fleetperf::perf_event {

// Needs CAP_PERFMON, or perf_event_paranoid below 1. Each event needs a
// descriptor on each CPU. CPUs may come and go. Thread-compatible.
class CpuCounts {
 public:
  struct Options {
    System* system = &LinuxSystem();
    // Events that should count together, in the order of their importance.
    std::vector<std::vector<Event>> groups;
    // Groups behind this limit are left out.
    size_t max_descriptors = 1 << 16;
    // The open directory of a cgroup, which must stay open, or -1 for all
    // processes.
    int cgroup = -1;
  };

  // Opens nothing: Update does.
  explicit CpuCounts(Options options);

  // Opens events of CPUs that came, closes those of CPUs that went, and reads
  // all. An event that no CPU has, or that is not permitted, is left out from
  // then on: see missing(). Fails if the list of CPUs cannot be read.
  absl::Status Update();

  // All CPUs that are online, in ascending order.
  const std::vector<int>& cpus() const { return online_; }

  // The same, and CPUs that were online before.
  std::vector<int> known_cpus() const;

  // The count of an event on a CPU; nullptr if the event does not count there.
  // Events are numbered through all groups. A CPU that comes back continues
  // from its last count.
  const ScaledTotal* Find(int cpu, size_t event) const;

  // Why events are left out, by the number of the event.
  const std::map<size_t, absl::Status>& missing() const { return missing_; }

  size_t open_descriptors() const;

 private:
  struct OpenGroup {
    Group group;
    std::vector<size_t> events;            // by position in the group
    std::optional<uint64_t> last_enabled;  // no reading yet
  };
  struct Cpu {
    // By number of the group; absent if none of its events is open.
    std::map<size_t, OpenGroup> groups;
    // By number of the event; kept while the CPU is offline.
    std::map<size_t, ScaledTotal> totals;
  };

  absl::Status FindOnline();
  void LimitGroups();
  void OpenMissing();
  void Open(int number, size_t group, Cpu* cpu);
  void ReadAll(Cpu* cpu);
  bool Read(OpenGroup* open, Cpu* cpu);
  bool IsOpenAnywhere(size_t event) const;
  void Drop(size_t group, const absl::Status& reason);

  const Options options_;
  std::vector<size_t> first_event_;  // of each group
  std::vector<int> online_;
  std::map<int, Cpu> cpus_;
  std::map<size_t, absl::Status> missing_;
  GroupValues values_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_CPU_COUNTS_H_
