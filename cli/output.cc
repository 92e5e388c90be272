#include "cli/output.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/text/printable.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/times.h"

namespace fleetperf::cli {
namespace {

// errno of the first failure to write standard output; 0: none. Written by the
// main thread or by a watch's painter.
std::atomic<int> output_error = 0;
bool is_wide = false;

void NoteOutputError() {
  int none = 0;
  output_error.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

bool IsNull(const Field& field) {
  return std::holds_alternative<std::monostate>(field.value);
}

void AppendJson(const Record& record, std::string* out);

// The JSON of a double or of text with unusual characters. Names come from
// machines, so invalid UTF-8 is replaced.
template <typename T>
void AppendByLibrary(const T& value, std::string* out) {
  *out += nlohmann::json(value).dump(-1, ' ', false,
                                     nlohmann::json::error_handler_t::replace);
}

// Text is mostly printable ASCII, which needs no library.
void AppendJson(absl::string_view text, std::string* out) {
  const size_t start = out->size();
  out->push_back('"');
  for (const char c : text) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) {
      out->resize(start);
      return AppendByLibrary(std::string(text), out);
    }
    if (c == '"' || c == '\\') out->push_back('\\');
    out->push_back(c);
  }
  out->push_back('"');
}

void AppendJson(const Field::Value& value, std::string* out) {
  std::visit(
      [out](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          absl::StrAppend(out, "null");
        } else if constexpr (std::is_same_v<Held, std::vector<Record>>) {
          out->push_back('[');
          for (const Record& record : held) {
            if (&record != &held.front()) out->push_back(',');
            AppendJson(record, out);
          }
          out->push_back(']');
        } else if constexpr (std::is_same_v<Held, std::vector<std::string>>) {
          AppendByLibrary(held, out);
        } else if constexpr (std::is_same_v<Held, Record>) {
          AppendJson(held, out);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          AppendJson(absl::string_view(held), out);
        } else if constexpr (std::is_same_v<Held, bool>) {
          absl::StrAppend(out, held ? "true" : "false");
        } else if constexpr (std::is_same_v<Held, uint32_t>) {
          absl::StrAppend(out, held);
        } else if constexpr (std::is_same_v<Held, absl::Time>) {
          AppendJson(absl::string_view(TimeText(held)), out);
        } else if constexpr (std::is_same_v<Held, double>) {
          AppendByLibrary(held, out);
        } else {
          absl::StrAppend(out, "\"", held, "\"");
        }
      },
      value);
}

void AppendJson(const Record& record, std::string* out) {
  const size_t start = out->size();
  for (const Field& field : record) {
    if (!field.is_in(kInJson) || (field.detail && IsNull(field))) continue;
    out->push_back(out->size() == start ? '{' : ',');
    AppendJson(absl::string_view(field.name), out);
    out->push_back(':');
    AppendJson(field.value, out);
  }
  absl::StrAppend(out, out->size() == start ? "{}" : "}");
}

// Returns the full value, for programs.
std::string PlainText(const Field& field) {
  if (IsNull(field)) return "";
  if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
  if (const auto* fields = std::get_if<Record>(&field.value)) {
    return absl::StrJoin(*fields, " ", [](std::string* out, const Field& one) {
      absl::StrAppend(out, one.name, "=", PlainText(one));
    });
  }
  std::string text;
  AppendJson(field.value, &text);
  // Integers of 64 bits have quotes in JSON.
  absl::string_view plain = text;
  if (absl::ConsumePrefix(&plain, "\"")) absl::ConsumeSuffix(&plain, "\"");
  return std::string(plain);
}

std::string QuoteCsv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// Spreadsheets calculate text that begins like a formula. Names are those of
// processes and disks, which anybody can choose; so they get a "'" in front.
std::string WithoutFormula(std::string text) {
  if (!text.empty() && absl::StrContains("=+-@\t\r", text.substr(0, 1))) {
    text.insert(0, "'");
  }
  return text;
}

// Returns the full value, for spreadsheets.
std::string CsvText(const Field& field) {
  if (const auto* time = std::get_if<absl::Time>(&field.value)) {
    return SpreadsheetTime(*time);
  }
  const bool is_text = std::holds_alternative<std::string>(field.value) ||
                       std::holds_alternative<Record>(field.value);
  return is_text ? WithoutFormula(PlainText(field)) : PlainText(field);
}

// Writes a line as a terminal shows it, or as a program reads it.
void PutLineFor(bool is_terminal, absl::string_view line,
                absl::string_view end) {
  if (is_terminal) {
    Put(Printable(line));
  } else {
    Put(line);
  }
  Put(end);
}

class TablePrinter : public RecordPrinter {
 public:
  void Print(const Record& record) override { rows_.Add(record); }
  void Finish() override {
    ForEachLine(std::move(rows_), TableWidth(), nullptr,
                [is_terminal = IsTerminal()](absl::string_view line) {
                  PutLineFor(is_terminal, line, "\n");
                });
  }

 private:
  TableRows rows_;
};

class CsvPrinter : public RecordPrinter {
 public:
  void Print(const Record& record) override {
    if (!std::exchange(has_header_, true)) {
      PrintLine(record,
                [](const Field& field) { return WithoutFormula(field.name); });
    }
    PrintLine(record, CsvText);
  }

 private:
  template <typename Text>
  static void PrintLine(const Record& record, Text text) {
    std::vector<std::string> cells;
    for (const Field& field : record) {
      if (field.is_in(kInCsv)) cells.push_back(QuoteCsv(text(field)));
    }
    PutLine(absl::StrJoin(cells, ","));
  }

  bool has_header_ = false;
};

class JsonPrinter : public RecordPrinter {
 public:
  void Print(const Record& record) override {
    PutLineFor(is_terminal_, ToJson(record), "\n");
  }

 private:
  const bool is_terminal_ = IsTerminal();  // calls the system
};

}  // namespace

void Put(absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    NoteOutputError();
  }
}

void PutLine(absl::string_view line, absl::string_view end) {
  PutLineFor(IsTerminal(), line, end);
}

void PutLines(const std::vector<std::string>& lines, absl::string_view end) {
  const bool is_terminal = IsTerminal();
  for (const std::string& line : lines) PutLineFor(is_terminal, line, end);
}

bool HasOutputFailed() { return output_error != 0; }

absl::Status FinishOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) NoteOutputError();
  const int error = output_error;
  if (error == 0 || error == EPIPE) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("cannot write the output: ", std::strerror(error)));
}

size_t TableWidth() { return is_wide ? 0 : TerminalSize().columns; }

void UseWideTables() { is_wide = true; }

std::string TableText(const Field& field) {
  if (field.text.has_value()) return Printable(*field.text);
  const auto* text = std::get_if<std::string>(&field.value);
  if (text != nullptr) return Printable(*text);
  return Printable(PlainText(field));
}

size_t DisplayWidth(absl::string_view text) {
  size_t width = 0;
  for (const char byte : text) width += StartsCharacter(byte);
  return width;
}

std::string CutEnd(absl::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    if (StartsCharacter(text[end]) && ++characters == width) break;
  }
  return absl::StrCat(text.substr(0, end), "…");
}

std::string CutFront(absl::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  size_t start = text.size();
  for (size_t characters = 1; characters < width; ++characters) {
    while (!StartsCharacter(text[--start])) {
    }
  }
  return absl::StrCat("…", text.substr(start));
}

std::unique_ptr<RecordPrinter> MakePrinter(Format format) {
  switch (format) {
    case Format::kCsv:
      return std::make_unique<CsvPrinter>();
    case Format::kJson:
      return std::make_unique<JsonPrinter>();
    case Format::kTable:
    case Format::kPdhCsv:  // handled by pdh_csv.h
      break;
  }
  return std::make_unique<TablePrinter>();
}

std::string ToJson(const Record& record) {
  std::string json;
  AppendJson(record, &json);
  return json;
}

}  // namespace fleetperf::cli
