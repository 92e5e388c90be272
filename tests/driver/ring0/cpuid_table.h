// The CPUID of a simulated CPU, as KVM takes it.

#ifndef FLEETPERF_TESTS_DRIVER_RING0_CPUID_TABLE_H_
#define FLEETPERF_TESTS_DRIVER_RING0_CPUID_TABLE_H_

#include <linux/kvm.h>

#include <cstdint>
#include <vector>

#include "driver/pmu/simulation/cpu_model.h"

namespace fleetperf::ring0 {

// The model's answers, with the bits added that KVM needs for a CPU in 64-bit
// mode: long mode, page tables, model-specific registers.
std::vector<kvm_cpuid_entry2> CpuidTable(const pmu::CpuModel& model,
                                         uint32_t cpu);

}  // namespace fleetperf::ring0

#endif  // FLEETPERF_TESTS_DRIVER_RING0_CPUID_TABLE_H_
