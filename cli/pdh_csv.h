// The CSV format of perfmon and relog: a column per series, a row per time.

#ifndef FLEETPERF_CLI_PDH_CSV_H_
#define FLEETPERF_CLI_PDH_CSV_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/values.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

// Times are in UserZone(). Lines are returned without their ends, CR LF.
class PdhCsv {
 public:
  // The rows are `origin` and multiples of `step`, or one row if that is 0:
  // samples of several machines are not taken at the same instants. A partial
  // window has the row after the last whole one.
  explicit PdhCsv(absl::Duration step, absl::Time origin = absl::UnixEpoch())
      : step_(step), origin_(origin) {}

  // Adds a column, unless the series has one.
  void AddSeries(const v1::Series& series) { ColumnOf(series); }
  // Returns the number of the value's row. The values of a series must be added
  // in order. A value of a row that was taken is left out.
  int64_t Add(const v1::Series& series, const Value& value);

  // Sorts the columns, which are in the order of their addition otherwise.
  using Less = std::function<bool(const v1::Series& a, const v1::Series& b)>;
  void SortColumns(const Less& less);

  bool is_empty() const { return columns_.empty(); }

  // Returns the first line: the time zone, as it is in the first row, and the
  // series.
  std::string Header() const;
  // Returns the header and all rows.
  std::vector<std::string> Lines() const;
  // Removes the rows up to `last` and returns them.
  std::vector<std::string> TakeRows(int64_t last);

 private:
  struct Row {
    std::map<size_t, double> cells;  // by column
    // The latest end of a partial window; the row's time if no other value is
    // in it.
    absl::Time partial_end = absl::InfinitePast();
    bool has_whole = false;
  };

  struct Column {
    v1::Series series;
    std::optional<absl::Time> first;  // the first value's time and row
    int64_t first_row = 0;
  };

  size_t ColumnOf(const v1::Series& series);
  int64_t RowOf(absl::Time time) const;
  absl::Time TimeOf(int64_t number, const Row& row) const;
  std::string LineOf(int64_t number, const Row& row) const;

  const absl::Duration step_;
  const absl::Time origin_;
  std::vector<Column> columns_;
  std::vector<size_t> order_;  // of the columns
  std::map<uint32_t, size_t> column_of_series_;
  std::map<int64_t, Row> rows_;
  int64_t first_row_ = INT64_MIN;  // after those that were taken
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PDH_CSV_H_
