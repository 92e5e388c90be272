// The counterset "Paging File", from /proc/swaps: swap partitions and files.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_PAGING_FILE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_PAGING_FILE_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class PagingFile : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit PagingFile(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  struct Swap {
    std::string utf16_name;
    uint32_t id = 0;
    uint64_t peak_kib = 0;
    uint64_t last_pass = 0;
  };

  // Returns the swap space called `name` in the file.
  Swap& GetSwap(absl::string_view name);

  ProcFile swaps_;
  std::string buffer_;
  absl::flat_hash_map<std::string, Swap> known_;
  uint32_t ids_ = 0;  // given so far
  uint64_t pass_ = 0;
  uint64_t total_peak_kib_ = 0;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_MEMORY_PAGING_FILE_H_
