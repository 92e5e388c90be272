// Series with many values as a table for users: one row per series.

#ifndef FLEETPERF_CLI_SERIES_TABLE_H_
#define FLEETPERF_CLI_SERIES_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output.h"
#include "cli/sparkline.h"
#include "cli/timeline.h"
#include "cli/values.h"
#include "fleetperf/v1/query.pb.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

class SeriesTable {
 public:
  // `step` is the length of a value's window. `request` has the asked range; by
  // default, that is the range of the values.
  explicit SeriesTable(absl::Duration step, v1::QueryRangeRequest request = {});

  // Adds the next value of `series`. `record` is the value's record in other
  // formats; the fields before its time identify the series.
  void Add(const Record& record, const v1::Series& series, const Value& value);

  // Returns a line with the beginning of the first window and the end of the
  // last one, and with the asked range if that is longer. Then a table
  // (FormatTable) with one row per series in order of arrival: in a ranking,
  // the value by which it ranks; the newest value, the average, minimum and
  // maximum; the part of the asked range that the row covers; the number and
  // cause of missing values, and the end of an instance that has ended. With
  // `trend`, sparklines on a common time axis fill the remaining space.
  std::vector<std::string> Lines(size_t width,
                                 std::optional<Characters> trend) const;

 private:
  struct Row {
    Record name;
    v1::Series series;
    std::vector<TimedValue> values;
    std::map<std::string, uint64_t> missing;  // by reason
    std::optional<double> share;              // Value::share
    std::optional<absl::Time> ended;          // Value::ended
  };

  // The times of the values.
  struct Times {
    std::vector<std::vector<TimeRange>> of_rows;
    TimeRange of_values;
    absl::Duration longest;  // step of a row
    absl::Duration shortest = absl::InfiniteDuration();
  };

  Times TimesOf() const;
  static std::string EndText(const std::optional<absl::Time>& end,
                             const TimeRange& of_values);
  Record ToRecord(const Row& row, const TimeRange& of_values,
                  const TimeRange& asked) const;
  std::string TrendOf(size_t row, const Times& times, const TrendScale& scale,
                      size_t cells, Characters characters) const;

  const absl::Duration step_;
  const v1::QueryRangeRequest request_;
  std::vector<Row> rows_;
  absl::Time range_end_ = absl::InfinitePast();  // of the answer
  std::map<uint32_t, size_t> row_of_series_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_SERIES_TABLE_H_
