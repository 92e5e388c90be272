// Fills the row of a process from its files.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_VALUES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_VALUES_H_

#include <cstdint>
#include <string>

#include "agent/source/linux/process/process_reader.h"
#include "agent/source/linux/process/process_stat.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

// Thread-compatible.
class ProcessValues {
 public:
  // `root` is the directory that holds sys: "" on a real machine.
  ProcessValues(const std::string& root, ProcessReader* reader);

  // Sets the columns of kProcessCounters in the last row of `sample`: those of
  // the stat line but kElapsedTime, and those in `needed`, as far as they can
  // be read.
  void Set(const ProcessStat& stat, ColumnSet needed,
           ProcessReader::Process* process, CountersetSample* sample);

 private:
  void SetStat(const ProcessStat& stat, CountersetSample* sample) const;
  void SetWorkingSet(uint32_t pid, CountersetSample* sample);
  void SetStatus(uint32_t pid, CountersetSample* sample);
  void SetIo(uint32_t pid, CountersetSample* sample);
  void SetHandles(uint32_t pid, CountersetSample* sample) const;
  void SetThreads(const ProcessStat& stat, ProcessReader::Process* process,
                  CountersetSample* sample);
  void SetRollup(uint32_t pid, CountersetSample* sample);
  void SetOomScore(uint32_t pid, CountersetSample* sample);

  ProcessReader& reader_;
  const uint64_t page_size_;
  const bool has_many_cpus_;
  std::string buffer_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_PROCESS_VALUES_H_
