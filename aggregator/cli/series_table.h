// Series with many values as a table for users: one row per series.

#ifndef FLEETPERF_AGGREGATOR_CLI_SERIES_TABLE_H_
#define FLEETPERF_AGGREGATOR_CLI_SERIES_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "aggregator/cli/output.h"
#include "aggregator/cli/sparkline.h"
#include "aggregator/cli/values.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

class SeriesTable {
 public:
  // `step` is the length of a value's window.
  explicit SeriesTable(absl::Duration step) : step_(step) {}

  // Adds the next value of `series`. `record` is the value's record in other
  // formats; the fields before its time identify the series.
  void Add(const Record& record, const v1::Series& series, const Value& value);

  // Returns a line with the beginning of the first window and the end of the
  // last one, then a table (FormatTable) with one row per series in order of
  // arrival: the newest value, the average, minimum and maximum, and the number
  // and cause of missing values. With `trend`, a sparkline fills the remaining
  // space.
  std::vector<std::string> Lines(size_t width,
                                 std::optional<Characters> trend) const;

 private:
  struct Row {
    Record name;
    v1::Series series;
    std::vector<std::optional<double>> values;
    std::map<std::string, uint64_t> missing;  // by reason
  };

  static Record ToRecord(const Row& row);

  const absl::Duration step_;
  absl::Time first_ = absl::InfiniteFuture();  // ends of windows
  absl::Time last_ = absl::InfinitePast();
  std::vector<Row> rows_;
  std::map<uint32_t, size_t> row_of_series_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_SERIES_TABLE_H_
