// The output of commands: records, as a table for users or in a format for
// programs.

#ifndef FLEETPERF_CLI_OUTPUT_H_
#define FLEETPERF_CLI_OUTPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf::cli {

enum class Format { kTable, kCsv, kJson, kPdhCsv };

// The outputs that show a field, as a set of bits.
inline constexpr uint8_t kInTables = 1;
inline constexpr uint8_t kInCsv = 2;
inline constexpr uint8_t kInJson = 4;
inline constexpr uint8_t kEverywhere = kInTables | kInCsv | kInJson;

// How a column may change in a table that is wider than the terminal; see
// FormatTable.
enum class ColumnRole : uint8_t {
  kKey,       // values, units and marks: always shown in full
  kInstance,  // the name of the row: cut last
  kMachine,   // stated once above the table if all rows agree
  kCounter,   // same; cut at the front
  kExtra,     // dropped
  kSpare,     // dropped after names were cut
  kText,      // explanations: cut first, and dropped
};

// A field of a record. The value of an empty field is monostate: null in JSON,
// empty elsewhere.
struct Field {
  // JSON writes integers of 64 bits as strings, because many readers of JSON
  // keep 53 bits. Times are RFC 3339, and in CSV as spreadsheets read them. The
  // last alternatives are lists, which only JSON prints, of texts and of
  // records, and an object.
  using Value =
      std::variant<std::monostate, std::string, double, uint32_t, uint64_t,
                   int64_t, bool, absl::Time, std::vector<std::string>,
                   std::vector<std::vector<Field>>, std::vector<Field>>;

  std::string name;
  Value value;
  // The text in tables, if it differs from the value.
  std::optional<std::string> text = std::nullopt;
  // The column's title and the text in tables that are too wide.
  struct Brief {
    std::string name;
    std::string text;
  };
  std::optional<Brief> brief = std::nullopt;
  // Whether the field is hidden in tables, and in JSON if it has no value.
  bool detail = false;
  uint8_t shown_in = kEverywhere;
  ColumnRole role = ColumnRole::kKey;

  bool is_in(uint8_t outputs) const {
    return (shown_in & outputs) != 0 && !(outputs == kInTables && detail);
  }
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

// Writes bytes to standard output. The first failure is kept for FinishOutput.
// Text from outside must be Printable.
void Put(absl::string_view bytes);
// Writes a line, which may have text from outside, to standard output. On a
// terminal, the line is made Printable.
void PutLine(absl::string_view line, absl::string_view end = "\n");
void PutLines(const std::vector<std::string>& lines,
              absl::string_view end = "\n");
// Returns whether writing has failed: further output is useless.
bool HasOutputFailed();
// Flushes standard output and returns the first failure to write it. A reader
// that closed the pipe, such as a pager, has enough: this is no error.
absl::Status FinishOutput();

// The width that tables must fit: the terminal's, or 0, which is no limit.
size_t TableWidth();
// Makes TableWidth() 0 (--wide).
void UseWideTables();

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

#endif  // FLEETPERF_CLI_OUTPUT_H_
