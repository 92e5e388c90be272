// The output of commands: records, as a table for users or in a format for
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

// A field of a record. The value of an empty field is monostate: null in JSON,
// empty elsewhere.
struct Field {
  // The last alternative is a list of records, which only JSON prints.
  using Value = std::variant<std::monostate, std::string, double, uint64_t,
                             int64_t, bool, std::vector<std::vector<Field>>>;

  std::string name;
  Value value;
  // The text in tables, if it differs from the value.
  std::optional<std::string> text = std::nullopt;
  // Whether the field is hidden in tables, and in JSON if it has no value.
  bool detail = false;
};

using Record = std::vector<Field>;

// Prints records with equal fields to standard output.
class RecordPrinter {
 public:
  virtual ~RecordPrinter() = default;
  virtual void Print(const Record& record) = 0;
  // Prints tables, whose column widths are known only at the end.
  virtual void Finish() {}
};

std::unique_ptr<RecordPrinter> MakePrinter(Format format);

// Returns the text of a field in tables.
std::string TableText(const Field& field);

// Returns a record as one line of JSON, without the line end.
std::string ToJson(const Record& record);

// Returns the rows of a table: numbers aligned right, an upper-case header, and
// no line longer than `width` unless that is 0.
std::vector<std::string> FormatTable(const std::vector<Record>& records,
                                     size_t width);

// Returns whether a UTF-8 character starts with this byte.
inline bool StartsCharacter(char byte) {
  return (static_cast<uint8_t>(byte) & 0xC0) != 0x80;
}

// Returns the width of the text on a terminal: one column per character.
size_t DisplayWidth(absl::string_view text);

// Return the text if it fits `width` columns, which must be at least 1.
// Otherwise return as much of its start, or of its end, as fits with an
// ellipsis.
std::string CutEnd(absl::string_view text, size_t width);
std::string CutFront(absl::string_view text, size_t width);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_OUTPUT_H_
