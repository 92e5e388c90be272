#ifndef FLEETPERF_TESTS_FUZZ_CHECK_H_
#define FLEETPERF_TESTS_FUZZ_CHECK_H_

// Traps if `condition` is false, so that libFuzzer reports the input.
#define FUZZ_CHECK(condition)           \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (false)

#endif  // FLEETPERF_TESTS_FUZZ_CHECK_H_
