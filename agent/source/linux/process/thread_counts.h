// Counts that the kernel keeps per thread and shows for no process.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_THREAD_COUNTS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_THREAD_COUNTS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"

namespace fleetperf::agent {

struct ThreadCounts {
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  uint64_t run_delay = 0;      // ns on a run queue without running
  bool has_run_delay = false;  // whether the kernel counts it
};

// Reads the counts of a thread from `directory`, /proc/PID/task/TID. Returns
// false if the thread has ended, or if its switches are not counted.
bool ReadThreadCounts(const std::string& directory, std::string* buffer,
                      ThreadCounts* counts);

// Adds up the threads of a process, ended ones included, up to the last pass
// that saw them. Thread-compatible.
class ProcessThreadCounts {
 public:
  // `directory` is /proc/PID/task. A process with one thread costs no list of
  // threads. Returns false if no thread can be read.
  bool Update(const std::string& directory, uint32_t pid, uint64_t threads,
              std::string* buffer);

  const ThreadCounts& total() const { return total_; }

 private:
  struct Known {
    ThreadCounts counts;
    uint64_t pass = 0;
  };

  bool Add(const std::string& directory, uint32_t tid, std::string* buffer);

  ThreadCounts total_;
  absl::flat_hash_map<uint32_t, Known> threads_;  // by tid
  uint64_t pass_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_THREAD_COUNTS_H_
