// The optional numbers on the command line of a benchmark.

#ifndef FLEETPERF_TESTS_BENCH_NUMBER_ARGUMENT_H_
#define FLEETPERF_TESTS_BENCH_NUMBER_ARGUMENT_H_

#include <cstdlib>

namespace fleetperf::bench {

// Returns the number in `place`, from 1, of main's arguments; `otherwise` if
// there are fewer.
inline int NumberArgument(int argc, char** argv, int place, int otherwise) {
  return argc > place ? std::atoi(argv[place]) : otherwise;
}

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_NUMBER_ARGUMENT_H_
