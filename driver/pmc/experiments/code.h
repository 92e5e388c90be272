// The machine code that the experiments measure.

#ifndef FLEETPERF_DRIVER_PMC_EXPERIMENTS_CODE_H_
#define FLEETPERF_DRIVER_PMC_EXPERIMENTS_CODE_H_

#include <cstdint>

namespace fleetperf::pmc {

// Whether this program has the code: x86-64 with GNU inline assembly.
#if defined(__x86_64__) && defined(__GNUC__)
inline constexpr bool kHasCode = true;
#else
inline constexpr bool kHasCode = false;
#endif

// A loop. The register r11 counts turns down; r12 is the result.
struct Loop {
  const char* name;
  void (*run)(uint64_t turns);  // at least 1
  int instructions;             // in a turn
  // In a turn, on Intel's cores since Haswell: what bounds the loop.
  double cycles;
};

extern const Loop kFiveALoop;      // cmp, jle, imul, dec, jmp
extern const Loop kFourALoop;      // imul, dec, cmp, jg
extern const Loop kThreeALoop;     // imul, dec, jnz
extern const Loop kThreeNopsLoop;  // five, and a nop after jle, imul and dec
extern const Loop kNineNopsLoop;   // five, and three nops there
extern const Loop kAddLoop;        // five, with add for imul
extern const Loop kSameAddsLoop;   // six: two adds to one register
extern const Loop kOtherAddsLoop;  // six: two adds to two registers

// Code between two RDPMC of one counter, whose instructions are known.
struct ExactCode {
  const char* name;
  // Takes the counter as RDPMC does. Returns the second value minus the first,
  // modulo 2^64; the counter's width may be less.
  uint64_t (*run)(uint32_t counter);
  // From the first RDPMC, inclusive, to the second.
  int instructions;
};

extern const ExactCode kBackToBack;          // shl, or, mov, cpuid, mov
extern const ExactCode kBackToBackWithNops;  // the same, and two nops
extern const ExactCode kFactorial;           // of 20, by the loop of five

}  // namespace fleetperf::pmc

#endif  // FLEETPERF_DRIVER_PMC_EXPERIMENTS_CODE_H_
