#ifndef FLEETPERF_TESTS_FUZZ_CHECK_H_
#define FLEETPERF_TESTS_FUZZ_CHECK_H_

// Ends the fuzzer, which then shows the input, if `condition` does not hold.
#define FUZZ_CHECK(condition)           \
  do {                                  \
    if (!(condition)) __builtin_trap(); \
  } while (false)

#endif  // FLEETPERF_TESTS_FUZZ_CHECK_H_
