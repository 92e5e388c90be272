// The counterset "Thread": one instance "process/tid" per thread, from
// /proc/PID/task/TID. Kernel threads are left out.
//
// Expensive: a file is opened for each thread, two more for context switches,
// and no file stays open.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_THREAD_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_THREAD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/process/process_reader.h"
#include "agent/source/linux/process/process_stat.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class Thread : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // Threads beyond this number have no instance: those of the processes with
  // the highest pids.
  static constexpr size_t kMaxThreads = 20'000;

  // `root` is the directory that holds proc: "" on a real machine.
  Thread(const std::string& root, std::shared_ptr<ProcessReader> reader,
         size_t max_threads = kMaxThreads);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // Returns the number of threads beyond the maximum.
  uint64_t AddThreads(ColumnSet needed, uint32_t pid,
                      absl::string_view utf16_process,
                      CountersetSample* sample);
  void AddThread(ColumnSet needed, uint32_t pid, uint32_t tid,
                 absl::string_view utf16_process, CountersetSample* sample);

  const std::shared_ptr<ProcessReader> reader_;
  const size_t max_threads_;
  ProcFile uptime_file_;
  std::optional<uint64_t> uptime_;  // of the current pass
  std::string buffer_;
  std::string utf16_name_;
  std::vector<uint32_t> tids_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESS_THREAD_H_
