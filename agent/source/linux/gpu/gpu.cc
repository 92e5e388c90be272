#include "agent/source/linux/gpu/gpu.h"

#include <iterator>
#include <utility>

#include "agent/source/linux/units.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum EngineColumn : size_t { kRunningTime, kUtilization, kNumEngineColumns };

// Ids are those of Windows.
constexpr LinuxCounter kEngineCounters[] = {
    {{1, kPerfCounterLargeRawcount, "Running Time",
      "Time in which the engines worked for the process, in units of 100 ns."},
     "100 ns",
     "/proc/PID/fdinfo drm-engine-NAME",
     "The sum of the engines of that name. Since the process opened the "
     "device, or since the agent started to look."},
    {{2, kPerf100NsecTimer, "Utilization Percentage",
      "Time in which the engines worked for the process."},
     "%",
     "/proc/PID/fdinfo drm-engine-NAME, drm-engine-capacity-NAME",
     "The mean of the engines of that name, so 100 is the most."},
};
static_assert(std::size(kEngineCounters) == kNumEngineColumns);

enum MemoryColumn : size_t {
  kCommitted,
  kDedicated,
  kShared,
  kNumMemoryColumns
};

constexpr char kCommittedSource[] = "/proc/PID/fdinfo drm-total-REGION";
constexpr char kDedicatedSource[] =
    "/proc/PID/fdinfo drm-resident-REGION, else drm-memory-REGION, of the "
    "regions vram*, local*";
constexpr char kSharedSource[] =
    "/proc/PID/fdinfo drm-resident-REGION, else drm-memory-REGION, of all "
    "other regions";
constexpr char kCommittedRemarks[] =
    "Some drivers do not tell it: the sum of the other two.";

constexpr LinuxCounter kProcessCounters[] = {
    {{1, kPerfCounterLargeRawcount, "Total Committed",
      "Size of the buffers of the process."},
     "bytes",
     kCommittedSource,
     kCommittedRemarks},
    {{4, kPerfCounterLargeRawcount, "Dedicated Usage",
      "Buffers in the adapter's own memory."},
     "bytes",
     kDedicatedSource,
     "Absent for adapters without memory of their own."},
    {{5, kPerfCounterLargeRawcount, "Shared Usage",
      "Buffers in the machine's memory."},
     "bytes",
     kSharedSource},
};
static_assert(std::size(kProcessCounters) == kNumMemoryColumns);

constexpr LinuxCounter kAdapterCounters[] = {
    {{1, kPerfCounterLargeRawcount, "Total Committed",
      "Size of the buffers of all processes."},
     "bytes",
     kCommittedSource,
     "The sum of the processes: buffers that they share count several times."},
    {{2, kPerfCounterLargeRawcount, "Dedicated Usage",
      "Buffers in the adapter's own memory."},
     "bytes",
     kDedicatedSource,
     "As Total Committed."},
    {{3, kPerfCounterLargeRawcount, "Shared Usage",
      "Buffers in the machine's memory."},
     "bytes",
     kSharedSource,
     "As Total Committed."},
};
static_assert(std::size(kAdapterCounters) == kNumMemoryColumns);

void SetMemory(const GpuUse::Memory& memory, CountersetSample* sample) {
  const auto set = [&](MemoryColumn column, std::optional<uint64_t> bytes) {
    if (bytes.has_value()) sample->Set(column, *bytes);
  };
  set(kCommitted, memory.committed);
  set(kDedicated, memory.dedicated);
  set(kShared, memory.shared);
}

}  // namespace

constinit const LinuxCounterset GpuEngine::kCounterset = {
    .guid = "{978c167d-4764-4d9c-9824-14747351dc81}",
    .name = "GPU Engine",
    .help = "How long the engines of graphics devices worked for processes.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "`pid_PID_gpu_ADAPTER_engtype_NAME`, with the adapter's PCI address, "
        "else its driver's name, and the driver's name of the engines: "
        "`pid_812_gpu_0000:03:00.0_engtype_gfx`. Processes that opened the "
        "device through drivers with DRM usage statistics that count time: "
        "amdgpu, i915, panfrost and others, but not xe and not the drivers of "
        "NVIDIA. New processes appear within 30 s",
    .counters = kEngineCounters};

GpuEngine::GpuEngine(std::shared_ptr<GpuUse> use)
    : Provider(MakeRegistration(kCounterset)), use_(std::move(use)) {}

absl::Status GpuEngine::Sample(ColumnSet, const Clocks& clocks,
                               CountersetSample* sample) {
  use_->Update(clocks, sample);
  for (const auto& [key, engine] : use_->engines()) {
    sample->AddInstance(engine.utf16_name, /*instance_id=*/std::get<0>(key));
    sample->Set(kRunningTime, engine.busy / kNSecPer100NSec);
    sample->Set(kUtilization, engine.busy / engine.capacity / kNSecPer100NSec);
  }
  return absl::OkStatus();
}

constinit const LinuxCounterset GpuProcessMemory::kCounterset = {
    .guid = "{f802502b-77b4-4713-81b3-3be05759da5d}",
    .name = "GPU Process Memory",
    .help = "Memory that processes use through graphics devices.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "`pid_PID_gpu_ADAPTER`, as in GPU Engine: `pid_812_gpu_0000:03:00.0`. "
        "Also with xe",
    .counters = kProcessCounters};

GpuProcessMemory::GpuProcessMemory(std::shared_ptr<GpuUse> use)
    : Provider(MakeRegistration(kCounterset)), use_(std::move(use)) {}

absl::Status GpuProcessMemory::Sample(ColumnSet, const Clocks& clocks,
                                      CountersetSample* sample) {
  use_->Update(clocks, sample);
  for (const auto& [key, memory] : use_->processes()) {
    sample->AddInstance(memory.utf16_name, /*instance_id=*/key.first);
    SetMemory(memory, sample);
  }
  return absl::OkStatus();
}

constinit const LinuxCounterset GpuAdapterMemory::kCounterset = {
    .guid = "{be2139c7-ab81-424d-b107-d87f7c9322ac}",
    .name = "GPU Adapter Memory",
    .help = "Memory in use on graphics devices.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "`gpu_ADAPTER`, as in GPU Process Memory, while a process uses the "
        "adapter",
    .counters = kAdapterCounters};

GpuAdapterMemory::GpuAdapterMemory(std::shared_ptr<GpuUse> use)
    : Provider(MakeRegistration(kCounterset)), use_(std::move(use)) {}

absl::Status GpuAdapterMemory::Sample(ColumnSet, const Clocks& clocks,
                                      CountersetSample* sample) {
  use_->Update(clocks, sample);
  for (const auto& [adapter, memory] : use_->adapters()) {
    sample->AddInstance(memory.utf16_name, /*instance_id=*/0);
    SetMemory(memory, sample);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
