// The counterset "Linux Softnet": the packets that each CPU took from network
// adapters, from /proc/net/softnet_stat. Instances are the online CPUs.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_SOFTNET_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_SOFTNET_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/wrapping_counter.h"
#include "agent/source/provider.h"
#include "agent/source/totals.h"

namespace fleetperf::agent {

class LinuxSoftnet : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit LinuxSoftnet(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  // Fields of a line: the last one used is the CPU's number.
  static constexpr size_t kNumFields = 13;
  using Fields = std::array<uint64_t, kNumFields>;

  static constexpr size_t kNumWrapping = 5;
  struct Cpu {
    std::string utf16_name;
    std::array<WrappingCounter, kNumWrapping> counters;
  };

  // Returns the CPU of line `position`, which has `num_fields` fields.
  uint32_t NumberOf(size_t position, const Fields& fields, size_t num_fields);
  void ReadOnline();
  void AddCpu(uint32_t number, const Fields& fields, size_t num_fields,
              CountersetSample* sample);

  ProcFile softnet_stat_;
  const std::string online_path_;
  std::string buffer_;
  std::vector<uint32_t> online_;  // only if the lines have no numbers of CPUs
  absl::flat_hash_map<uint32_t, Cpu> cpus_;
  Totals totals_;
  const std::string utf16_total_name_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_LINUX_SOFTNET_H_
