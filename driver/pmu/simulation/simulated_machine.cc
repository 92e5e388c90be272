#include "driver/pmu/simulation/simulated_machine.h"

namespace fleetperf::pmu {

void SimulatedMachine::AddCpu(const CpuModel& model) {
  if (num_cpus_ == kMaxCpus) return;
  cpus_[num_cpus_].bank = MsrBank(model);
  ++num_cpus_;
}

void SimulatedMachine::SetOnline(uint32_t cpu, bool is_online) {
  cpus_[cpu].is_online = is_online;
}

void SimulatedMachine::LoseState(uint32_t cpu) {
  cpus_[cpu].bank.Reset();
  cpus_[cpu].cr4 = 0;
}

void SimulatedMachine::FailAccess(uint64_t skipped) {
  fails_ = true;
  accesses_before_failure_ = skipped;
}

bool SimulatedMachine::Permit(const SimulatedAccess& access) {
  ++num_accesses_;
  if (observer_ != nullptr) observer_(context_, access);
  if (access.kind != SimulatedAccess::Kind::kWriteCr4 && hidden_msr_ != 0 &&
      access.msr == hidden_msr_) {
    return false;
  }
  if (!fails_ || accesses_before_failure_-- > 0) return true;
  fails_ = false;
  return false;
}

CpuidRegisters SimulatedMachine::Cpuid(uint32_t leaf, uint32_t subleaf) {
  return AnswerCpuid(cpus_[current_].bank.model(), current_, leaf, subleaf);
}

bool SimulatedMachine::ReadMsr(uint32_t msr, uint64_t* value) {
  return Permit({SimulatedAccess::Kind::kReadMsr, current_, msr, 0}) &&
         cpus_[current_].bank.Read(msr, value);
}

bool SimulatedMachine::WriteMsr(uint32_t msr, uint64_t value) {
  if (!Permit({SimulatedAccess::Kind::kWriteMsr, current_, msr, value})) {
    return false;
  }
  return ignores_writes_ || cpus_[current_].bank.Write(msr, value);
}

bool SimulatedMachine::WriteCr4(uint64_t value) {
  if (!Permit({SimulatedAccess::Kind::kWriteCr4, current_, 0, value})) {
    return false;
  }
  if (!ignores_cr4_) cpus_[current_].cr4 = value;
  return true;
}

bool SimulatedMachine::RunOn(uint32_t cpu, CpuWork& work) {
  if (cpu >= num_cpus_ || !cpus_[cpu].is_online) return false;
  const uint32_t before = current_;
  current_ = cpu;
  work.Run();
  current_ = before;
  return true;
}

Reservation SimulatedMachine::ReservePmu() {
  if (is_reserved_) return Reservation::kHeld;
  is_reserved_ = true;
  return Reservation::kGranted;
}

}  // namespace fleetperf::pmu
