// Prints tables of the costs of several servers, with ratios to the first.

#ifndef FLEETPERF_TESTS_BENCH_REPORT_H_
#define FLEETPERF_TESTS_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fleetperf::bench {

// Prints its rows to standard output when destroyed.
class Table {
 public:
  Table(std::string title, std::vector<std::string> servers);
  ~Table();

  // Adds a row with one value per server; NaN if a server has no value.
  void Add(std::string what, std::vector<double> values, int decimals);

 private:
  struct Row {
    std::string what;
    std::vector<double> values;
    int decimals;
  };

  const std::string title_;
  const std::vector<std::string> servers_;
  std::vector<Row> rows_;
};

// Prints the current step to standard error.
void Progress(absl::string_view what);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_REPORT_H_
