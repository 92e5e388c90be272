#include "tests/driver/ring0/bench.h"

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

#include "absl/status/status.h"
#include "tests/driver/ring0/cpuid_table.h"

namespace fleetperf::ring0 {
namespace {

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << "ring-0 bench: " << status << std::endl;
  std::abort();
}

}  // namespace

Banks::Banks(const std::array<pmu::CpuModel, kNumCpus>& models) {
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
    banks_[cpu] = pmu::MsrBank(models[cpu]);
  }
}

bool Banks::Fails() {
  if (!before_failure_) return false;
  if ((*before_failure_)-- > 0) return false;
  before_failure_.reset();
  return true;
}

bool Banks::ReadMsr(uint32_t cpu, uint32_t msr, uint64_t* value) {
  accesses_.read.insert(msr);
  return !Fails() && banks_[cpu].Read(msr, value);
}

bool Banks::WriteMsr(uint32_t cpu, uint32_t msr, uint64_t value) {
  accesses_.written.insert(msr);
  return !Fails() && banks_[cpu].Write(msr, value);
}

bool Banks::ReadPmc(uint32_t cpu, uint32_t counter, bool is_user, uint64_t cr4,
                    uint64_t* value) {
  const pmu::Ring ring = is_user ? pmu::Ring::kUser : pmu::Ring::kSystem;
  return banks_[cpu].ReadCounter(counter, ring, cr4, value);
}

Bench::Bench(const pmu::CpuModel& first, const pmu::CpuModel& second)
    : banks_({first, second}) {
  auto monitor = Monitor::Create(
      RING0_GUEST, {CpuidTable(first, 0), CpuidTable(second, 1)}, banks_);
  Require(monitor.status());
  monitor_ = *std::move(monitor);
  const pmu::CpuModel* const models[] = {&first, &second};
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
    mailbox().features_1_ecx[cpu] =
        pmu::AnswerCpuid(*models[cpu], cpu, 1, 0).ecx;
    mailbox().features_7_edx[cpu] =
        pmu::AnswerCpuid(*models[cpu], cpu, 7, 0).edx;
  }
}

pmu::Result Bench::Send(pmu::ClientId client, pmu::Command command) {
  mailbox().task = Task::kHandle;
  mailbox().client = client;
  mailbox().command = static_cast<uint32_t>(command);
  mailbox().request_size = 0;
  mailbox().reply_capacity = sizeof(Mailbox::reply);
  Require(monitor_->Run());
  return static_cast<pmu::Result>(mailbox().result);
}

pmu::Result Bench::Program(pmu::ClientId client,
                           const pmu::ProgramRequest& request) {
  mailbox().task = Task::kHandle;
  mailbox().client = client;
  mailbox().command = static_cast<uint32_t>(pmu::Command::kProgram);
  mailbox().request_size = sizeof(request);
  std::memcpy(mailbox().request, &request, sizeof(request));
  Require(monitor_->Run());
  return static_cast<pmu::Result>(mailbox().result);
}

pmu::Description Bench::Describe(std::vector<pmu::CpuDescription>* cpus) {
  pmu::Description description;
  cpus->assign(kNumCpus, {});
  if (Send(0, pmu::Command::kDescribe) != pmu::Result::kOk) return description;
  std::memcpy(&description, mailbox().reply, sizeof(description));
  std::memcpy(cpus->data(), mailbox().reply + sizeof(description),
              kNumCpus * sizeof(pmu::CpuDescription));
  return description;
}

std::vector<pmu::CpuCounts> Bench::Read(pmu::ClientId client) {
  if (Send(client, pmu::Command::kRead) != pmu::Result::kOk) return {};
  std::vector<pmu::CpuCounts> cpus(kNumCpus);
  std::memcpy(cpus.data(), mailbox().reply + sizeof(pmu::Counts),
              kNumCpus * sizeof(pmu::CpuCounts));
  return cpus;
}

std::array<uint32_t, 4> Bench::Cpuid(uint32_t leaf) {
  mailbox().counter = leaf;
  Do(Task::kReadCpuid);
  return std::to_array(mailbox().cpuid);
}

void Bench::Close(pmu::ClientId client) {
  mailbox().client = client;
  Do(Task::kClose);
}

void Bench::Do(Task task, uint32_t cpu) {
  mailbox().task = task;
  mailbox().cpu = cpu;
  Require(monitor_->Run());
}

std::optional<uint64_t> Bench::UserReadPmc(uint32_t counter) {
  return ReadPmc(Task::kUserReadPmc, counter);
}

std::optional<uint64_t> Bench::KernelReadPmc(uint32_t counter) {
  return ReadPmc(Task::kKernelReadPmc, counter);
}

std::optional<uint64_t> Bench::ReadPmc(Task task, uint32_t counter) {
  mailbox().counter = counter;
  Do(task);
  if (mailbox().has_pmc == 0) return std::nullopt;
  return mailbox().pmc;
}

std::array<Registers, kNumCpus> Bench::AllRegisters() {
  std::array<Registers, kNumCpus> all;
  for (uint32_t cpu = 0; cpu < kNumCpus; ++cpu) {
    const auto cr4 = monitor_->Cr4(cpu);
    Require(cr4.status());
    all[cpu] = {.bank = banks_.of(cpu).state(), .cr4 = *cr4};
  }
  return all;
}

}  // namespace fleetperf::ring0
