// A guest that runs the PMU core at CPL 0 on CPUs whose PMUs are simulated.

#ifndef FLEETPERF_TESTS_DRIVER_RING0_BENCH_H_
#define FLEETPERF_TESTS_DRIVER_RING0_BENCH_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/pmu/pmu.h"
#include "driver/pmu/protocol.h"
#include "driver/pmu/simulation/cpu_model.h"
#include "driver/pmu/simulation/msr_bank.h"
#include "tests/driver/ring0/monitor.h"

namespace fleetperf::ring0 {

// MSRs that the guest named, with those that faulted.
struct Accesses {
  std::set<uint32_t> read;
  std::set<uint32_t> written;
};

class Banks final : public Device {
 public:
  explicit Banks(const std::array<pmu::CpuModel, kNumCpus>& models);

  pmu::MsrBank& of(uint32_t cpu) { return banks_[cpu]; }
  const Accesses& accesses() const { return accesses_; }

  // The access after `skipped` others faults, once.
  void FailAccess(int skipped) { before_failure_ = skipped; }
  void FailNoAccess() { before_failure_.reset(); }
  // Whether the access that FailAccess announced is still to come.
  bool will_fail() const { return before_failure_.has_value(); }

  bool ReadMsr(uint32_t cpu, uint32_t msr, uint64_t* value) override;
  bool WriteMsr(uint32_t cpu, uint32_t msr, uint64_t value) override;
  bool ReadPmc(uint32_t cpu, uint32_t counter, bool is_user, uint64_t cr4,
               uint64_t* value) override;

 private:
  bool Fails();

  std::array<pmu::MsrBank, kNumCpus> banks_;
  Accesses accesses_;
  std::optional<int> before_failure_;
};

// The registers of a CPU that the core may change.
struct Registers {
  pmu::MsrBank::State bank;
  uint64_t cr4;

  bool operator==(const Registers&) const = default;
};

// Functions stop the test if the guest fails.
class Bench {
 public:
  // CPU 0 and CPU 1.
  Bench(const pmu::CpuModel& first, const pmu::CpuModel& second);
  explicit Bench(const pmu::CpuModel& model) : Bench(model, model) {}

  Banks& banks() { return banks_; }
  Monitor& monitor() { return *monitor_; }
  Mailbox& mailbox() { return monitor_->mailbox(); }

  // A request of `client` to the core.
  pmu::Result Send(pmu::ClientId client, pmu::Command command);
  pmu::Result Program(pmu::ClientId client, const pmu::ProgramRequest& request);
  pmu::Description Describe(std::vector<pmu::CpuDescription>* cpus);
  // Empty if the core refuses.
  std::vector<pmu::CpuCounts> Read(pmu::ClientId client);
  void Close(pmu::ClientId client);

  // Tasks without results, e.g. kStop, kCpuOnline.
  void Do(Task task, uint32_t cpu = 0);

  // EAX, EBX, ECX and EDX of a leaf, as the core sees them on CPU 0.
  std::array<uint32_t, 4> Cpuid(uint32_t leaf);

  // RDPMC on CPU 0; std::nullopt if it faults.
  std::optional<uint64_t> UserReadPmc(uint32_t counter);
  std::optional<uint64_t> KernelReadPmc(uint32_t counter);

  std::array<Registers, kNumCpus> AllRegisters();

 private:
  std::optional<uint64_t> ReadPmc(Task task, uint32_t counter);

  Banks banks_;
  std::unique_ptr<Monitor> monitor_;
};

}  // namespace fleetperf::ring0

#endif  // FLEETPERF_TESTS_DRIVER_RING0_BENCH_H_
