// The CSV format of perfmon and relog: a column per series, a row per time.

#ifndef FLEETPERF_AGGREGATOR_CLI_PDH_CSV_H_
#define FLEETPERF_AGGREGATOR_CLI_PDH_CSV_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/cli/values.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

class PdhCsv {
 public:
  // The rows are multiples of `step`, or one row if that is 0: samples of
  // several machines are not taken at the same instants.
  explicit PdhCsv(absl::Duration step) : step_(step) {}

  // The values of a series must be added in order.
  void Add(const v1::Series& series, const Value& value);

  bool is_empty() const { return columns_.empty(); }

  // Returns the lines without their ends, which are CR LF.
  std::vector<std::string> Lines() const;

 private:
  struct Column {
    std::string name;
    absl::Time first;  // the first value's time and row
    int64_t first_row;
  };

  size_t ColumnOf(const v1::Series& series, absl::Time first);
  std::string UniqueName(const v1::Series& series);
  int64_t RowOf(absl::Time time) const;
  absl::Time TimeOf(int64_t row) const;

  const absl::Duration step_;
  std::vector<Column> columns_;
  std::set<std::string> names_;
  std::map<uint32_t, size_t> column_of_series_;
  std::map<int64_t, std::map<size_t, double>> rows_;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PDH_CSV_H_
