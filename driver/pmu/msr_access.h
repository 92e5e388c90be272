// All accesses of the PMU core to MSRs: only those of the allow-list reach the
// machine.

#ifndef FLEETPERF_DRIVER_PMU_MSR_ACCESS_H_
#define FLEETPERF_DRIVER_PMU_MSR_ACCESS_H_

#include <stdint.h>

#include "driver/pmu/machine.h"

namespace fleetperf::pmu {

// The allow-list: counters and their controls, APERF and MPERF, thermal status,
// energy, and the frequency of the timestamp counter. Only counters and their
// controls may be written.
bool IsReadable(uint32_t msr);
bool IsWritable(uint32_t msr);

// Of the CPU that executes the functions. Each returns false if the register is
// not in the allow-list, or if the CPU refuses the access.
class MsrAccess {
 public:
  explicit MsrAccess(Machine& machine) : machine_(machine) {}

  bool Read(uint32_t msr, uint64_t* value) const;
  bool Write(uint32_t msr, uint64_t value) const;
  // Writes only if the register has another value.
  bool Change(uint32_t msr, uint64_t value) const;
  // Also false if the register does not keep the value: some hypervisors ignore
  // writes.
  bool WriteAndVerify(uint32_t msr, uint64_t value) const;

  // CR4.PCE permits RDPMC to all programs on the CPU. Also false if the CPU
  // does not keep the bit.
  bool UserReads() const;
  bool SetUserReads(bool is_allowed) const;

 private:
  Machine& machine_;
};

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_DRIVER_PMU_MSR_ACCESS_H_
