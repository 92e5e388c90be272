// What commands print: records, as a table for people or in a form for
// programs.

#ifndef FLEETPERF_AGGREGATOR_CLI_OUTPUT_H_
#define FLEETPERF_AGGREGATOR_CLI_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace fleetperf::cli {

enum class Format { kTable, kCsv, kJson, kPdhCsv };

// A field of a record. Where there is nothing to say, the value is monostate:
// null in JSON, empty elsewhere.
struct Field {
  using Value = std::variant<std::monostate, std::string, double, uint64_t,
                             int64_t, bool>;

  std::string name;
  Value value;
  // What a table shows in place of the value, if it is not the same.
  std::optional<std::string> text = std::nullopt;
  // Not in tables; in JSON only where there is a value.
  bool detail = false;
};

using Record = std::vector<Field>;

// Prints records that have the same fields to standard output.
class RecordPrinter {
 public:
  virtual ~RecordPrinter() = default;
  virtual void Print(const Record& record) = 0;
  // Tables are printed here, when the widths of their columns are known.
  virtual void Finish() {}
};

std::unique_ptr<RecordPrinter> MakePrinter(Format format);

// One line of JSON for a record, without the end of the line.
std::string ToJson(const Record& record);

// Rows of a table: numbers to the right, a header in upper case, no line longer
// than `width` unless that is 0.
std::vector<std::string> FormatTable(const std::vector<Record>& records,
                                     size_t width);

// A number as people read it, with its unit: bytes in powers of 1024, times in
// hours and minutes or in ms and us, large counts with separators, no more
// digits than mean something.
struct NumberText {
  std::string number;
  std::string unit;
};
NumberText FormatNumber(double value, absl::string_view unit);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_OUTPUT_H_
