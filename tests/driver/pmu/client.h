// A Pmu on a simulated machine, and its clients.

#ifndef FLEETPERF_TESTS_DRIVER_PMU_CLIENT_H_
#define FLEETPERF_TESTS_DRIVER_PMU_CLIENT_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "driver/pmu/pmu.h"
#include "driver/pmu/protocol.h"
#include "driver/pmu/simulation/simulated_machine.h"

namespace fleetperf::pmu {

inline constexpr ClientId kAlice = 1;
inline constexpr ClientId kBob = 2;

inline constexpr uint64_t kBoth = kSelectUser | kSelectSystem;
inline constexpr uint64_t kInstructions = kBoth | 0x00C0;
inline constexpr uint64_t kCycles = kBoth | 0x003C;
inline constexpr uint64_t kCacheMisses = kBoth | 0x412E;

// A program for one type of core.
inline ProgramRequest OneProgram(const CoreProgram& program,
                                 uint32_t flags = 0) {
  ProgramRequest request;
  request.header.size = sizeof(request);
  request.flags = flags;
  request.num_programs = 1;
  request.programs[0] = program;
  return request;
}

inline CoreProgram General(const std::vector<uint64_t>& selections) {
  CoreProgram program;
  for (size_t i = 0; i < selections.size(); ++i) {
    program.general[i] = selections[i];
  }
  return program;
}

// What a CPU's registers hold.
struct CpuRegisters {
  MsrBank::State bank;
  uint64_t cr4;
  bool operator==(const CpuRegisters&) const = default;
};

inline std::vector<CpuRegisters> Registers(SimulatedMachine& machine) {
  std::vector<CpuRegisters> all;
  for (uint32_t i = 0; i < machine.CpuLimit(); ++i) {
    all.push_back({machine.bank(i).state(), machine.cr4(i)});
  }
  return all;
}

class PmuOnMachine {
 public:
  explicit PmuOnMachine(SimulatedMachine& machine)
      : memory_(Pmu::MemorySize(machine.CpuLimit()) / 16 + 1),
        pmu_(machine, memory_.data()),
        num_cpus_(machine.CpuLimit()) {}

  Pmu* operator->() { return &pmu_; }

  // Sends a request without a reply.
  Result Send(ClientId client, Command command) {
    size_t size = 0;
    return pmu_.Handle(client, command, nullptr, 0, reply_.data(),
                       reply_.size(), &size);
  }
  Result Program(ClientId client, const ProgramRequest& request) {
    size_t size = 0;
    return pmu_.Handle(client, Command::kProgram, &request, sizeof(request),
                       nullptr, 0, &size);
  }
  // Reserves, and programs one type of core.
  Result Start(ClientId client, const CoreProgram& program,
               uint32_t flags = 0) {
    const Result reserved = Send(client, Command::kReserve);
    return reserved == Result::kOk ? Program(client, OneProgram(program, flags))
                                   : reserved;
  }

  Result Read(ClientId client, std::vector<CpuCounts>* cpus) {
    Counts header;
    return Array(client, Command::kRead, &header, cpus);
  }
  std::vector<CpuCounts> MustRead(ClientId client) {
    std::vector<CpuCounts> cpus;
    if (Read(client, &cpus) != Result::kOk) cpus.clear();
    cpus.resize(num_cpus_);
    return cpus;
  }
  Description Describe(std::vector<CpuDescription>* cpus) {
    Description description;
    Array(kBob, Command::kDescribe, &description, cpus);
    cpus->resize(num_cpus_);
    return description;
  }

 private:
  struct alignas(16) Block {
    char bytes[16];
  };

  template <typename Header, typename Cpu>
  Result Array(ClientId client, Command command, Header* header,
               std::vector<Cpu>* cpus) {
    size_t size = 0;
    const Result result = pmu_.Handle(client, command, nullptr, 0,
                                      reply_.data(), reply_.size(), &size);
    if (result != Result::kOk) return result;
    std::memcpy(header, reply_.data(), sizeof(*header));
    cpus->resize(header->num_cpus);
    std::memcpy(cpus->data(), reply_.data() + sizeof(*header),
                cpus->size() * sizeof(Cpu));
    return result;
  }

  std::vector<Block> memory_;
  std::string reply_ = std::string(1 << 16, '\0');
  Pmu pmu_;
  uint32_t num_cpus_;
};

}  // namespace fleetperf::pmu

#endif  // FLEETPERF_TESTS_DRIVER_PMU_CLIENT_H_
