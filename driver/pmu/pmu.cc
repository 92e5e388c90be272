#include "driver/pmu/pmu.h"

#include "driver/pmu/bytes.h"
#include "driver/pmu/cpu_state.h"
#include "driver/pmu/program_check.h"

namespace fleetperf::pmu {
namespace {

uint32_t NumCpus(uint32_t limit) { return limit < kMaxCpus ? limit : kMaxCpus; }

template <typename Function>
class Work final : public CpuWork {
 public:
  explicit Work(Function& function) : function_(function) {}
  void Run() override { function_(); }

 private:
  Function& function_;
};

// Writes a reply: a structure and then an array of one structure for each CPU.
class ReplyWriter {
 public:
  explicit ReplyWriter(void* reply)
      : position_(static_cast<unsigned char*>(reply)) {}

  template <typename T>
  void Write(const T& structure) {
    CopyBytes(position_, &structure, sizeof(structure));
    position_ += sizeof(structure);
  }

 private:
  unsigned char* position_;
};

Description Describe(const CpuFeatures& cpu) {
  Description description;
  description.header.size = sizeof(description);
  description.vendor = cpu.identity.vendor;
  description.family = cpu.identity.family;
  description.model = cpu.identity.model;
  description.stepping = cpu.identity.stepping;
  description.tsc_hz = cpu.tsc_hz;
  description.energy_unit = cpu.energy_unit;
  description.memory_energy_unit = cpu.memory_energy_unit;
  return description;
}

}  // namespace

size_t Pmu::MemorySize(uint32_t num_cpus) {
  return NumCpus(num_cpus) * sizeof(CpuState);
}

Pmu::Pmu(Machine& machine, void* memory)
    : machine_(machine),
      num_cpus_(NumCpus(machine.CpuLimit())),
      cpus_(static_cast<CpuState*>(memory)) {
  for (uint32_t i = 0; i < num_cpus_; ++i) cpus_[i] = CpuState{};
}

// Runs function(CpuState*) on a CPU.
template <typename Function>
bool Pmu::RunOn(uint32_t cpu, Function function) {
  auto run = [this, cpu, &function] { function(&cpus_[cpu]); };
  Work<decltype(run)> work(run);
  return machine_.RunOn(cpu, work);
}

void Pmu::DetectAll() {
  for (uint32_t i = 0; i < num_cpus_; ++i) {
    if (cpus_[i].is_detected) continue;
    RunOn(i, [this](CpuState* cpu) { Detect(machine_, cpu); });
  }
}

bool Pmu::HasPmu() const {
  for (uint32_t i = 0; i < num_cpus_; ++i) {
    if (cpus_[i].features.HasPmu()) return true;
  }
  return false;
}

// Each program must be for cores that exist, and suit all of them.
Result Pmu::CheckCoreTypes(const ProgramRequest& request) const {
  for (uint32_t p = 0; p < request.num_programs; ++p) {
    const CoreProgram& program = request.programs[p];
    bool found = false;
    for (uint32_t i = 0; i < num_cpus_; ++i) {
      const CpuFeatures& cpu = cpus_[i].features;
      if (!cpu.HasPmu() || cpu.description.core_type != program.core_type) {
        continue;
      }
      found = true;
      const Result check = CheckProgram(cpu, program);
      if (check != Result::kOk) return check;
    }
    if (!found) return Result::kWrongCoreType;
  }
  return Result::kOk;
}

Result Pmu::ClaimAll() {
  Result result = Result::kOk;
  for (uint32_t i = 0; i < num_cpus_ && result == Result::kOk; ++i) {
    RunOn(i, [&](CpuState* cpu) { result = Claim(machine_, cpu); });
  }
  return result;
}

Result Pmu::StartAll() {
  const bool user_reads = (program_.flags & kAllowUserReads) != 0;
  Result result = Result::kOk;
  for (uint32_t i = 0; i < num_cpus_ && result == Result::kOk; ++i) {
    cpus_[i].totals = CpuCounts{};
    RunOn(i, [&](CpuState* cpu) {
      const uint32_t type = cpu->features.description.core_type;
      result = Start(machine_, FindProgram(program_, type), user_reads, cpu);
    });
  }
  return result;
}

void Pmu::RestoreAll() {
  for (uint32_t i = 0; i < num_cpus_; ++i) RestoreAt(i);
  is_programmed_ = false;
}

void Pmu::RestoreAt(uint32_t cpu) {
  RunOn(cpu, [&](CpuState* state) { Restore(machine_, state); });
}

// The registers may have another owner from now on, so that those of a CPU that
// refused an access, or that is offline, are given up.
bool Pmu::Free() {
  bool ok = true;
  for (uint32_t i = 0; i < num_cpus_; ++i) {
    const bool is_online =
        RunOn(i, [&](CpuState* cpu) { ok &= Restore(machine_, cpu); });
    CpuStage& stage = cpus_[i].stage;
    const bool is_lost =
        !is_online && (stage == CpuStage::kChanged || stage == CpuStage::kLost);
    stage = is_lost ? CpuStage::kLost : CpuStage::kUntouched;
    ok &= !is_lost;
  }
  is_programmed_ = false;
  if (owner_ != 0) machine_.ReleasePmu();
  owner_ = 0;
  return ok;
}

Result Pmu::Describe(void* reply, size_t capacity, size_t* size) {
  const size_t needed =
      sizeof(Description) + num_cpus_ * sizeof(CpuDescription);
  if (capacity < needed) return Result::kWrongSize;
  DetectAll();
  uint32_t first = 0;
  while (first + 1 < num_cpus_ && !cpus_[first].is_detected) ++first;
  Description description = pmu::Describe(cpus_[first].features);
  description.num_cpus = num_cpus_;
  ReplyWriter writer(reply);
  writer.Write(description);
  for (uint32_t i = 0; i < num_cpus_; ++i) {
    CpuDescription cpu = cpus_[i].features.description;
    cpu.is_online = RunOn(i, [](CpuState*) {}) ? 1 : 0;
    writer.Write(cpu);
  }
  *size = needed;
  return Result::kOk;
}

Result Pmu::Reserve(ClientId client) {
  if (client == 0) return Result::kNotOwner;
  if (is_suspended_) return Result::kSuspended;
  if (owner_ != 0) return owner_ == client ? Result::kOk : Result::kOwned;
  DetectAll();
  if (!HasPmu()) return Result::kNoPmu;
  switch (machine_.ReservePmu()) {
    case Reservation::kGranted:
      break;
    case Reservation::kHeld:
      return Result::kReservedBySystem;
    case Reservation::kUnavailable:
      return Result::kCannotReserve;
  }
  owner_ = client;
  const Result result = ClaimAll();
  if (result != Result::kOk) Free();
  return result;
}

Result Pmu::Program(const void* request, size_t size) {
  ProgramRequest program;
  Result result = ParseProgram(request, size, &program);
  if (result != Result::kOk) return result;
  if (is_suspended_) return Result::kSuspended;
  DetectAll();
  result = CheckCoreTypes(program);
  if (result != Result::kOk) return result;
  program_ = program;
  is_programmed_ = true;
  result = StartAll();
  if (result != Result::kOk) RestoreAll();
  return result;
}

Result Pmu::Read(void* reply, size_t capacity, size_t* size) {
  const size_t needed = sizeof(Counts) + num_cpus_ * sizeof(CpuCounts);
  if (!is_programmed_) return Result::kNotProgrammed;
  if (capacity < needed) return Result::kWrongSize;
  Counts counts;
  counts.header.size = sizeof(counts);
  counts.num_cpus = num_cpus_;
  ReplyWriter writer(reply);
  writer.Write(counts);
  for (uint32_t i = 0; i < num_cpus_; ++i) {
    bool ok = true;
    const bool is_online =
        RunOn(i, [&](CpuState* cpu) { ok = Update(machine_, cpu); });
    if (!ok) return Result::kFault;
    CpuCounts cpu = cpus_[i].totals;
    cpu.is_online = is_online && cpus_[i].stage == CpuStage::kChanged ? 1 : 0;
    writer.Write(cpu);
  }
  *size = needed;
  return Result::kOk;
}

Result Pmu::Handle(ClientId client, Command command, const void* request,
                   size_t request_size, void* reply, size_t reply_capacity,
                   size_t* reply_size) {
  *reply_size = 0;
  const bool is_owner = client != 0 && client == owner_;
  if (command == Command::kProgram) {
    return is_owner ? Program(request, request_size) : Result::kNotOwner;
  }
  if (request_size != 0) return Result::kWrongSize;
  switch (command) {
    case Command::kDescribe:
      return Describe(reply, reply_capacity, reply_size);
    case Command::kReserve:
      return Reserve(client);
    case Command::kRead:
      return is_owner ? Read(reply, reply_capacity, reply_size)
                      : Result::kNotOwner;
    case Command::kRelease:
      if (!is_owner) return Result::kNotOwner;
      return Free() ? Result::kOk : Result::kFault;
    default:
      return Result::kUnknownCommand;
  }
}

void Pmu::Close(ClientId client) {
  if (client != 0 && client == owner_) Free();
}

void Pmu::Stop() { Free(); }

void Pmu::CpuOnline(uint32_t cpu) {
  if (cpu >= num_cpus_ || is_suspended_) return;
  // Its registers have changed since they were saved.
  if (cpus_[cpu].stage == CpuStage::kSaved) {
    cpus_[cpu].stage = CpuStage::kUntouched;
  }
  if (!is_programmed_) return RestoreAt(cpu);
  Result result = Result::kOk;
  RunOn(cpu, [&](CpuState* state) {
    if (state->stage == CpuStage::kUntouched) Detect(machine_, state);
    const CoreProgram* program =
        FindProgram(program_, state->features.description.core_type);
    const bool user_reads = (program_.flags & kAllowUserReads) != 0;
    result = Start(machine_, program, user_reads, state);
  });
  if (result != Result::kOk) RestoreAt(cpu);
}

void Pmu::Resume() {
  is_suspended_ = false;
  for (uint32_t i = 0; i < num_cpus_; ++i) CpuOnline(i);
}

void Pmu::CpuOffline(uint32_t cpu) {
  if (cpu >= num_cpus_) return;
  RunOn(cpu, [&](CpuState* state) {
    Update(machine_, state);
    Restore(machine_, state);
  });
}

void Pmu::Suspend() {
  for (uint32_t i = 0; i < num_cpus_; ++i) CpuOffline(i);
  is_suspended_ = true;
}

}  // namespace fleetperf::pmu
