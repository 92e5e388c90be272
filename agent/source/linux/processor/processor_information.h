// The counterset "Processor Information". Instances are "node,index" with the
// positions of CpuTopology, "node,_Total" and "_Total".

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_INFORMATION_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_INFORMATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/processor/cpu_topology.h"
#include "agent/source/linux/processor/processor_count.h"
#include "agent/source/linux/processor/processor_performance.h"
#include "agent/source/linux/processor/processor_reader.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"
#include "driver/perf_event/system.h"

namespace fleetperf::agent {

class ProcessorInformation : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  // `events` must outlive this object; it opens at most `max_descriptors`.
  explicit ProcessorInformation(
      const std::string& root,
      perf_event::System& events = perf_event::LinuxSystem(),
      size_t max_descriptors = 1024);

  // Reports queries for % Processor Performance and the utilities if the
  // descriptors do not suffice. Defines nothing.
  DefinedCounters DefineCounters(std::vector<PlannedQuery>* queries) override;

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Node {
    explicit Node(uint32_t number);
    std::string utf16_total_name;
    Totals totals;
    std::map<uint32_t, std::string> utf16_cpu_names;  // by CPU
  };

  // Names all CPUs, after one was read for the first time.
  void NameCpus();
  // Adds the rows of the node's online CPUs. Returns whether there are any.
  bool AddCpus(Node& node, ColumnSet needed, CountersetSample* sample);

  ProcessorReader reader_;
  ProcessorPerformance performance_;
  CpuTopology topology_;
  size_t named_cpus_ = 0;
  std::map<uint32_t, Node> nodes_;
  Totals totals_;
  ProcessorCount count_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_INFORMATION_H_
