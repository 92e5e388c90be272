#include "driver/windows/sys/guarded.h"

#include "driver/windows/sys/instructions.h"

// clang's structured exception handling covers calls only, so each instruction
// is in a function of its own.
#ifdef _MSC_VER
#define FLEETPERF_NOINLINE __declspec(noinline)
#else
#define FLEETPERF_NOINLINE __attribute__((noinline))
#endif

namespace fleetperf::pmu_device {
namespace {

constexpr int kExecuteHandler = 1;  // EXCEPTION_EXECUTE_HANDLER

FLEETPERF_NOINLINE uint64_t ReadMsrUnguarded(uint32_t msr) {
  return ReadMsrInstruction(msr);
}
FLEETPERF_NOINLINE void WriteMsrUnguarded(uint32_t msr, uint64_t value) {
  WriteMsrInstruction(msr, value);
}
FLEETPERF_NOINLINE void WriteCr4Unguarded(uint64_t value) {
  WriteCr4Instruction(value);
}

}  // namespace

bool GuardedReadMsr(uint32_t msr, uint64_t* value) {
  __try {
    *value = ReadMsrUnguarded(msr);
    return true;
  } __except (kExecuteHandler) {
    return false;
  }
}

bool GuardedWriteMsr(uint32_t msr, uint64_t value) {
  __try {
    WriteMsrUnguarded(msr, value);
    return true;
  } __except (kExecuteHandler) {
    return false;
  }
}

bool GuardedWriteCr4(uint64_t value) {
  __try {
    WriteCr4Unguarded(value);
    return true;
  } __except (kExecuteHandler) {
    return false;
  }
}

}  // namespace fleetperf::pmu_device
