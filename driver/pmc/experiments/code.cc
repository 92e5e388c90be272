#include "driver/pmc/experiments/code.h"

namespace fleetperf::pmc {
namespace {

#if defined(__x86_64__) && defined(__GNUC__)

// The loop tests at its top, so that r11 ends at 1 after `turns` turns.
#define FLEETPERF_TOP_TESTED_LOOP(after_jle, body, after_body, after_dec) \
  [](uint64_t turns) {                                                    \
    asm volatile(                                                         \
        "mov %0, %%r11\n\t"                                               \
        "mov $1, %%r12\n\t"                                               \
        "mov $1, %%r13\n\t"                                               \
        ".p2align 5\n"                                                    \
        "1:\n\t"                                                          \
        "cmp $1, %%r11\n\t"                                               \
        "jle 2f\n\t" after_jle body after_body "dec %%r11\n\t" after_dec  \
        "jmp 1b\n"                                                        \
        "2:"                                                              \
        :                                                                 \
        : "r"(turns + 1)                                                  \
        : "r11", "r12", "r13", "cc");                                     \
  }

// `end` leaves the loop after `turns` turns.
#define FLEETPERF_END_TESTED_LOOP(start, end) \
  [](uint64_t turns) {                        \
    asm volatile(                             \
        "mov %0, %%r11\n\t"                   \
        "mov $1, %%r12\n\t"                   \
        ".p2align 5\n"                        \
        "1:\n\t"                              \
        "imul %%r11, %%r12\n\t"               \
        "dec %%r11\n\t" end                   \
        :                                     \
        : "r"(turns + (start))                \
        : "r11", "r12", "cc");                \
  }

#define FLEETPERF_IMUL "imul %%r11, %%r12\n\t"
#define FLEETPERF_ADD "add %%r11, %%r12\n\t"
#define FLEETPERF_NOP "nop\n\t"
#define FLEETPERF_NOPS "nop\n\tnop\n\tnop\n\t"

// CPUID overwrites ecx, which selects the counter.
#define FLEETPERF_BACK_TO_BACK(nops)            \
  [](uint32_t counter) {                        \
    uint64_t first, low, high;                  \
    asm volatile(                               \
        "mov %3, %%ecx\n\t"                     \
        "rdpmc\n\t"                             \
        "shl $32, %%rdx\n\t"                    \
        "or %%rdx, %%rax\n\t"                   \
        "mov %%rax, %0\n\t"                     \
        "cpuid\n\t" nops                        \
        "mov %3, %%ecx\n\t"                     \
        "rdpmc"                                 \
        : "=&r"(first), "=&a"(low), "=&d"(high) \
        : "r"(counter)                          \
        : "rbx", "rcx");                        \
    return (high << 32 | low) - first;          \
  }

uint64_t RunFactorial(uint32_t counter) {
  uint64_t first_low, first_high, low, high;
  asm volatile(
      "rdpmc\n\t"
      "mov %%rax, %0\n\t"
      "mov %%rdx, %1\n\t"
      "mov $20, %%r11\n\t"
      "mov $1, %%r12\n"
      "1:\n\t"
      "cmp $1, %%r11\n\t"
      "jle 2f\n\t"
      "imul %%r11, %%r12\n\t"
      "dec %%r11\n\t"
      "jmp 1b\n"
      "2:\n\t"
      "rdpmc"
      : "=&r"(first_low), "=&r"(first_high), "=&a"(low), "=&d"(high)
      : "c"(counter)
      : "r11", "r12", "cc");
  return (high << 32 | low) - (first_high << 32 | first_low);
}

#else

#define FLEETPERF_TOP_TESTED_LOOP(after_jle, body, after_body, after_dec) \
  [](uint64_t) {}
#define FLEETPERF_END_TESTED_LOOP(start, end) [](uint64_t) {}
#define FLEETPERF_BACK_TO_BACK(nops) [](uint32_t) { return uint64_t{0}; }
uint64_t RunFactorial(uint32_t) { return 0; }

#endif

}  // namespace

// imul's result is ready after 3 cycles, and the next turn's imul needs it.
const Loop kFiveALoop = {
    "five", FLEETPERF_TOP_TESTED_LOOP("", FLEETPERF_IMUL, "", ""), 5, 3};
const Loop kFourALoop = {
    "four", FLEETPERF_END_TESTED_LOOP(1, "cmp $1, %%r11\n\tjg 1b"), 4, 3};
const Loop kThreeALoop = {"three", FLEETPERF_END_TESTED_LOOP(0, "jnz 1b"), 3,
                          3};
const Loop kThreeNopsLoop = {
    "five and 3 nops",
    FLEETPERF_TOP_TESTED_LOOP(FLEETPERF_NOP, FLEETPERF_IMUL, FLEETPERF_NOP,
                              FLEETPERF_NOP),
    8, 3};
// 14 instructions, of which cmp and jle are one operation: 13 need 3.25 cycles
// at 4 a cycle.
const Loop kNineNopsLoop = {
    "five and 9 nops",
    FLEETPERF_TOP_TESTED_LOOP(FLEETPERF_NOPS, FLEETPERF_IMUL, FLEETPERF_NOPS,
                              FLEETPERF_NOPS),
    14, 3.5};
const Loop kAddLoop = {
    "add for imul", FLEETPERF_TOP_TESTED_LOOP("", FLEETPERF_ADD, "", ""), 5, 1};
const Loop kSameAddsLoop = {
    "two adds, same register",
    FLEETPERF_TOP_TESTED_LOOP("", FLEETPERF_ADD FLEETPERF_ADD, "", ""), 6, 2};
const Loop kOtherAddsLoop = {
    "two adds, two registers",
    FLEETPERF_TOP_TESTED_LOOP("", FLEETPERF_ADD "add %%r11, %%r13\n\t", "", ""),
    6, 1.25};

const ExactCode kBackToBack = {"back to back", FLEETPERF_BACK_TO_BACK(""), 6};
const ExactCode kBackToBackWithNops = {
    "with two nops", FLEETPERF_BACK_TO_BACK(FLEETPERF_NOP FLEETPERF_NOP), 8};
// RDPMC, 4 that follow it, 19 turns of 5, and the last cmp and jle.
const ExactCode kFactorial = {"factorial of 20", RunFactorial,
                              1 + 4 + 19 * 5 + 2};

}  // namespace fleetperf::pmc
