// Prints the costs of servers side by side, and compares their answers.

#ifndef FLEETPERF_TESTS_BENCH_COMPARISON_REPORT_H_
#define FLEETPERF_TESTS_BENCH_COMPARISON_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/bench/comparison.h"

namespace fleetperf::bench {

// Print a table to standard output, with ratios to the first result.
void PrintIngest(const std::string& title, const std::vector<Result>& results);
void PrintQueries(const std::vector<Result>& results);

// Prints the largest difference between answers. Internal if it exceeds the
// tolerance.
absl::Status CompareAnswers(const std::vector<Result>& results);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_COMPARISON_REPORT_H_
