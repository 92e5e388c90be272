// What servers cost, side by side; and whether they answered the same.

#ifndef FLEETPERF_TESTS_BENCH_COMPARISON_REPORT_H_
#define FLEETPERF_TESTS_BENCH_COMPARISON_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/bench/comparison.h"

namespace fleetperf::bench {

// Each prints to standard output, with ratios to the first result.
void PrintIngest(const std::string& title, const std::vector<Result>& results);
void PrintQueries(const std::vector<Result>& results);

// Prints how far the answers differ. An error if they do not agree.
absl::Status CompareAnswers(const std::vector<Result>& results);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_COMPARISON_REPORT_H_
