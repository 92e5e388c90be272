// The countersets "GPU Engine", "GPU Process Memory" and "GPU Adapter Memory"
// of graphics devices whose drivers account for their clients.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_GPU_GPU_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_GPU_GPU_H_

#include <memory>

#include "absl/status/status.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/gpu/gpu_use.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class GpuEngine : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  explicit GpuEngine(std::shared_ptr<GpuUse> use);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  const std::shared_ptr<GpuUse> use_;
};

class GpuProcessMemory : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  explicit GpuProcessMemory(std::shared_ptr<GpuUse> use);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  const std::shared_ptr<GpuUse> use_;
};

class GpuAdapterMemory : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  explicit GpuAdapterMemory(std::shared_ptr<GpuUse> use);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  const std::shared_ptr<GpuUse> use_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_GPU_GPU_H_
