// The counterset "Linux Perf": events of perf_event, chosen by plans.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_PERF_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_PERF_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/cgroup/cgroup_directory.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"
#include "driver/perf_event/cpu_counts.h"
#include "driver/perf_event/event.h"
#include "driver/perf_event/system.h"

namespace fleetperf::agent {

// Counters are named by perf's event names, in their canonical form, and their
// ids are derived from it. The registration begins with the software events
// that cost nothing; a plan's name of another event adds a counter.
//
// Instances are the CPUs, `_Total`, and the cgroups that a plan names:
// instances that begin with "/". Events are open while a plan names them.
class LinuxPerf : public Provider {
 public:
  LinuxPerf(perf_event::System& system, const std::string& root,
            size_t max_descriptors);

  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) override;
  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // The processes whose events are counted: those of a cgroup, or all.
  struct Target {
    std::unique_ptr<CgroupDirectory> cgroup;         // null: all
    std::string utf16_name;                          // of a cgroup
    std::map<size_t, perf_event::CpuCounts> counts;  // by column
  };

  size_t columns() const { return registration().counters.size(); }
  // Returns the column of the event with this text; adds it if it is new.
  absl::StatusOr<size_t> Define(absl::string_view text);
  // Returns why the event cannot be counted here.
  absl::Status Try(size_t column);
  void DefineQuery(size_t position, PlannedQuery* query,
                   DefinedCounters* defined, ColumnSet* planned);
  void CloseUnplanned(ColumnSet planned,
                      const std::vector<std::string>& cgroups);

  void Update(ColumnSet needed, Target* target);
  void AddCpus(const Target& target, ColumnSet needed,
               CountersetSample* sample);
  void AddCgroup(const Target& target, ColumnSet needed,
                 CountersetSample* sample);
  // Adds the counts of one CPU to the values of a row, and their times to the
  // columns of % Time Counted.
  void AddCounts(const Target& target, int cpu, ColumnSet needed,
                 std::vector<uint64_t>* values, ColumnSet* present) const;

  perf_event::System& system_;
  const std::string root_;
  const size_t max_descriptors_;
  const std::string utf16_total_name_;
  // By column. Several PMUs may count one text.
  std::map<size_t, std::vector<perf_event::Event>> events_;
  Target everything_;
  bool counts_cpus_ = true;                // not if plans name cgroups only
  std::map<std::string, Target> cgroups_;  // by path
  Totals totals_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_PERF_H_
