// The numbers of processors that are present and online.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_COUNT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_COUNT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "agent/source/linux/periodic.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// Processors rarely come and go, so they are counted every 10 s.
// Thread-compatible.
class ProcessorCount {
 public:
  // `root` is the directory that holds sys: "" on a real machine.
  explicit ProcessorCount(const std::string& root)
      : directory_(root + "/sys/devices/system/cpu/") {}

  // Counts them, if the last count is old.
  void Update(const perflib::Clocks& clocks);

  // std::nullopt if they are not known, as in some containers.
  std::optional<uint64_t> online() const { return online_; }
  std::optional<uint64_t> offline() const { return offline_; }

 private:
  const std::string directory_;
  Periodic count_{/*seconds=*/10};
  std::optional<uint64_t> online_;
  std::optional<uint64_t> offline_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_PROCESSOR_PROCESSOR_COUNT_H_
