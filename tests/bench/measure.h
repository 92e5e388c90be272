// Compares CPU times of pieces of code in one run.
//
// Machines are shared and their speed drifts. Only ratios between candidates
// that were measured in alternation are meaningful.

#ifndef FLEETPERF_TESTS_BENCH_MEASURE_H_
#define FLEETPERF_TESTS_BENCH_MEASURE_H_

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace fleetperf::bench {

struct Candidate {
  std::string name;
  std::function<void()> run;
  double nanos = std::numeric_limits<double>::infinity();  // per run
};

// The process's CPU time in nanoseconds.
inline double CpuNanos() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 +
         static_cast<double>(time.tv_nsec);
}

// Runs each candidate `runs` times in each of `rounds` rounds and sets its
// `nanos` to the average of its fastest round, the one with the least
// interference.
inline void Measure(int rounds, int runs, std::vector<Candidate>* candidates) {
  for (int round = 0; round < rounds; ++round) {
    for (Candidate& candidate : *candidates) {
      const double start = CpuNanos();
      for (int i = 0; i < runs; ++i) candidate.run();
      candidate.nanos = std::min(candidate.nanos, (CpuNanos() - start) / runs);
    }
  }
}

// Prevents the compiler from eliminating the computation of `value`.
template <typename T>
void Keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_MEASURE_H_
