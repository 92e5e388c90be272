#include "driver/pmu/program_check.h"

#include "driver/pmu/bytes.h"
#include "driver/pmu/cpuid.h"

namespace fleetperf::pmu {
namespace {

// Event and unit mask of the architectural events, in the order of the bits of
// CPUID.0AH:EBX.
constexpr uint16_t kArchitecturalEvents[] = {0x003C, 0x00C0, 0x013C, 0x4F2E,
                                             0x412E, 0x00C4, 0x00C5, 0x01A4};

bool IsAbsent(const CpuFeatures& cpu, uint64_t selection) {
  if (cpu.identity.vendor != Vendor::kIntel) return false;
  uint32_t absent = cpu.description.absent_events;
  for (const uint16_t event : kArchitecturalEvents) {
    if ((absent & 1) != 0 && Bits(selection, 15, 0) == event) return true;
    absent >>= 1;
  }
  return false;
}

Result CheckGeneral(const CpuFeatures& cpu, const CoreProgram& program) {
  const uint64_t allowed =
      cpu.identity.vendor == Vendor::kAmd ? kAmdSelectMask : kIntelSelectMask;
  for (uint32_t i = 0; i < kMaxGeneralCounters; ++i) {
    const uint64_t selection = program.general[i];
    if (selection == 0) continue;
    if (i >= cpu.description.num_general) return Result::kWrongCounter;
    if ((selection & ~allowed) != 0 || IsAbsent(cpu, selection)) {
      return Result::kWrongEvent;
    }
  }
  return Result::kOk;
}

Result CheckFixed(const CpuFeatures& cpu, const CoreProgram& program) {
  constexpr uint64_t kSystemAndUser = 0x3;
  for (uint32_t i = 0; i < 16; ++i) {
    const uint64_t control = program.fixed_control >> (4 * i) & 0xF;
    if (control == 0) continue;
    if (!cpu.HasFixed(i)) return Result::kWrongCounter;
    if ((control & ~kSystemAndUser) != 0) return Result::kWrongEvent;
  }
  return Result::kOk;
}

Result CheckStructure(const ProgramRequest& request) {
  if ((request.flags & ~kAllowUserReads) != 0) return Result::kWrongEvent;
  if (request.num_programs == 0 || request.num_programs > kMaxCoreTypes) {
    return Result::kWrongCoreType;
  }
  for (uint32_t i = 0; i < request.num_programs; ++i) {
    const CoreProgram& program = request.programs[i];
    if (program.reserved != 0) return Result::kWrongEvent;
    if (FindProgram(request, program.core_type) != &program) {
      return Result::kWrongCoreType;  // two programs for one type
    }
  }
  return Result::kOk;
}

}  // namespace

Result ParseProgram(const void* bytes, size_t size, ProgramRequest* request) {
  Header header;
  if (size < sizeof(header)) return Result::kWrongSize;
  CopyBytes(&header, bytes, sizeof(header));
  if (header.version != kProtocolVersion) return Result::kWrongVersion;
  if (header.size != size || size != sizeof(*request)) {
    return Result::kWrongSize;
  }
  CopyBytes(request, bytes, sizeof(*request));
  return CheckStructure(*request);
}

const CoreProgram* FindProgram(const ProgramRequest& request,
                               uint32_t core_type) {
  for (uint32_t i = 0; i < request.num_programs; ++i) {
    if (request.programs[i].core_type == core_type) {
      return &request.programs[i];
    }
  }
  return nullptr;
}

Result CheckProgram(const CpuFeatures& cpu, const CoreProgram& program) {
  const Result general = CheckGeneral(cpu, program);
  return general == Result::kOk ? CheckFixed(cpu, program) : general;
}

}  // namespace fleetperf::pmu
