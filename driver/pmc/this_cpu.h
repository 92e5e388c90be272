// The CPU that executes this thread, as CPUID describes it to user mode.

#ifndef FLEETPERF_DRIVER_PMC_THIS_CPU_H_
#define FLEETPERF_DRIVER_PMC_THIS_CPU_H_

#include <string>

#include "driver/pmu/cpu_features.h"

namespace fleetperf::pmc {

struct ThisCpu {
  std::string brand;          // "AMD EPYC 7763 64-Core Processor"
  pmu::CpuFeatures features;  // without those that need MSRs
  bool has_hypervisor = false;
  bool has_invariant_tsc = false;
};

// Vendor::kOther on other architectures than x86-64.
ThisCpu DescribeThisCpu();

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_THIS_CPU_H_
