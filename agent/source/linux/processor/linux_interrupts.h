// The counterset "Linux Interrupts": interrupts and softirqs by source, from
// /proc/interrupts and /proc/softirqs.
//
// Reading them costs time in the kernel that grows with sources times CPUs.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_INTERRUPTS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_INTERRUPTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/processor/interrupt_table.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxInterrupts : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit LinuxInterrupts(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Source {
    std::string description;
    std::string utf16_name;
    EventCount count;
    uint64_t last_pass = 0;
  };

  // A file, whose rows become instances.
  struct Table {
    ProcFile file;
    bool is_of_softirqs;
    std::vector<uint32_t> cpus;  // in the last pass
  };

  void AddTable(Table& table, CountersetSample* sample);
  void AddRow(const InterruptRow& row, const Table& table, bool same_cpus,
              CountersetSample* sample);

  Table interrupts_;
  Table softirqs_;
  std::string buffer_;
  InterruptTableMemory table_memory_;
  absl::flat_hash_map<uint32_t, Source> sources_;  // by instance id
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_LINUX_INTERRUPTS_H_
