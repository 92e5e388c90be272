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
  // The last one is a list of records, which JSON has room for.
  using Value = std::variant<std::monostate, std::string, double, uint64_t,
                             int64_t, bool, std::vector<std::vector<Field>>>;

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

// What a table shows of a field.
std::string TableText(const Field& field);

// One line of JSON for a record, without the end of the line.
std::string ToJson(const Record& record);

// Rows of a table: numbers to the right, a header in upper case, no line longer
// than `width` unless that is 0.
std::vector<std::string> FormatTable(const std::vector<Record>& records,
                                     size_t width);

// Whether a character of UTF-8 starts with this byte.
inline bool StartsCharacter(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
}

// How many columns of a terminal the text takes: one a character.
size_t DisplayWidth(absl::string_view text);

// The text if it takes no more than `width` columns, which are at least 1; else
// as much of its start, or of its end, as leaves room for an ellipsis.
std::string CutEnd(absl::string_view text, size_t width);
std::string CutFront(absl::string_view text, size_t width);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_OUTPUT_H_
