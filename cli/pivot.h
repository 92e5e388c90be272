// Values with counters as columns and instances as rows (--pivot), as in the
// output of iostat -x.

#ifndef FLEETPERF_CLI_PIVOT_H_
#define FLEETPERF_CLI_PIVOT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/output.h"
#include "cli/values.h"
#include "fleetperf/v1/values.pb.h"

namespace fleetperf::cli {

// A row has the values of one machine and instance; `with_time`: of one time,
// too. Counters of several countersets share the rows of instances with the
// same name.
class Pivot {
 public:
  explicit Pivot(bool with_time) : with_time_(with_time) {}

  // `record` is that of the value in other outputs: the fields before its time
  // or value identify the row, those after its unit are marks of the row.
  void Add(const Record& record, const v1::Series& series, const Value& value);

  size_t rows() const { return rows_.size(); }

  // Returns a record for each row, in order of time, then of arrival. Numbers
  // in tables have the scale that suits the largest one of their column;
  // columns of CSV name their unit.
  std::vector<Record> Records(uint8_t output) const;

  // Returns tables (FormatTable) of `count` rows from `first`. If not all
  // columns fit `width`, the remaining ones are in further tables.
  std::vector<std::vector<std::string>> Tables(size_t width, size_t first,
                                               size_t count) const;

 private:
  // The counterset, the counter and the unit.
  using ColumnKey = std::tuple<std::string, std::string, std::string>;
  struct Column {
    ColumnKey key;
    v1::Series series;
    double largest = 0;  // absolute value
  };
  struct Row {
    absl::Time time;
    Record names;
    Record marks;
    std::map<size_t, Value> values;  // by column
  };

  size_t ColumnOf(const v1::Series& series);
  Row* RowOf(const Record& names, const Value& value);
  std::string TitleOf(const Column& column) const;
  Field CellOf(const Row& row, size_t column, uint8_t output) const;

  const bool with_time_;
  std::vector<Column> columns_;
  std::map<ColumnKey, size_t> column_of_key_;
  std::map<std::string, size_t> countersets_of_title_;
  std::vector<Row> rows_;
  std::map<std::pair<absl::Time, std::string>, size_t> row_of_name_;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PIVOT_H_
