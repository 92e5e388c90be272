// A table of what several servers cost, beside ratios to the first of them.

#ifndef FLEETPERF_TESTS_BENCH_REPORT_H_
#define FLEETPERF_TESTS_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fleetperf::bench {

// Prints what was added when it is destroyed.
class Table {
 public:
  Table(std::string title, std::vector<std::string> servers);
  ~Table();

  // One value for each server; NaN: it has none.
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

// Says on standard error what is under way.
void Progress(absl::string_view what);

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_REPORT_H_
