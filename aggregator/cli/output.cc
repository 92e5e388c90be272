#include "aggregator/cli/output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "aggregator/cli/terminal.h"
#include "base/printable.h"

namespace fleetperf::cli {
namespace {

bool IsNull(const Field& field) {
  return std::holds_alternative<std::monostate>(field.value);
}

bool IsNumber(const Field& field) {
  return std::holds_alternative<double>(field.value) ||
         std::holds_alternative<uint64_t>(field.value) ||
         std::holds_alternative<int64_t>(field.value);
}

nlohmann::ordered_json ToJsonValue(const Field::Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

// The value in full, as programs want it.
std::string PlainText(const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
  if (IsNull(field)) return "";
  return ToJsonValue(field.value).dump();
}

std::string TableText(const Field& field) {
  return Printable(field.text.value_or(PlainText(field)));
}

std::string QuoteCsv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// How many columns of a terminal the text takes: one a character.
size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  });
}

std::string Cut(const std::string& text, size_t width) {
  if (Width(text) <= width) return text;
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    if ((static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) continue;
    if (++characters == width) break;
  }
  return text.substr(0, end) + "…";
}

class TablePrinter : public RecordPrinter {
 public:
  void Print(const Record& record) override { records_.push_back(record); }
  void Finish() override {
    const size_t width = TerminalSize().columns;
    for (const std::string& line : FormatTable(records_, width)) {
      std::puts(line.c_str());
    }
  }

 private:
  std::vector<Record> records_;
};

class CsvPrinter : public RecordPrinter {
 public:
  void Print(const Record& record) override {
    if (!std::exchange(has_header_, true)) {
      PrintLine(record, [](const Field& field) { return field.name; });
    }
    PrintLine(record, PlainText);
  }

 private:
  template <typename Text>
  static void PrintLine(const Record& record, Text text) {
    std::vector<std::string> cells;
    for (const Field& field : record) cells.push_back(QuoteCsv(text(field)));
    std::puts(absl::StrJoin(cells, ",").c_str());
  }

  bool has_header_ = false;
};

class JsonPrinter : public RecordPrinter {
 public:
  void Print(const Record& record) override {
    std::puts(ToJson(record).c_str());
  }
};

std::string WithSeparators(const std::string& digits) {
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// With so many decimals that about four digits mean something.
std::string FormatPlain(double value) {
  const double size = std::fabs(value);
  const int decimals = value == std::floor(value) ? 0
                       : size >= 1000             ? 0
                       : size >= 100              ? 1
                                                  : 2;
  if (size > 0 && size < 0.005) return absl::StrFormat("%.2g", value);
  std::string text = absl::StrFormat("%.*f", decimals, size);
  const size_t point = std::min(text.find('.'), text.size());
  return absl::StrCat(value < 0 ? "-" : "",
                      WithSeparators(text.substr(0, point)),
                      text.substr(point));
}

NumberText FormatSeconds(double value) {
  const double size = std::fabs(value);
  if (size >= 60) {
    return {absl::FormatDuration(
                absl::Trunc(absl::Seconds(value), absl::Seconds(1))),
            ""};
  }
  if (size == 0 || size >= 1) return {FormatPlain(value), "s"};
  if (size >= 1e-3) return {FormatPlain(value * 1e3), "ms"};
  return {FormatPlain(value * 1e6), "us"};
}

}  // namespace

std::unique_ptr<RecordPrinter> MakePrinter(Format format) {
  switch (format) {
    case Format::kCsv:
      return std::make_unique<CsvPrinter>();
    case Format::kJson:
      return std::make_unique<JsonPrinter>();
    case Format::kTable:
    case Format::kPdhCsv:  // a table of its own; see pdh_csv.h
      break;
  }
  return std::make_unique<TablePrinter>();
}

std::string ToJson(const Record& record) {
  nlohmann::ordered_json object;
  for (const Field& field : record) {
    if (field.detail && IsNull(field)) continue;
    object[field.name] = ToJsonValue(field.value);
  }
  // Names come from machines: what is no UTF-8 is replaced.
  return object.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace);
}

std::vector<std::string> FormatTable(const std::vector<Record>& records,
                                     size_t width) {
  std::vector<std::string> lines;
  if (records.empty()) return lines;
  struct Column {
    std::string title;
    bool right = false;
    size_t width = 0;
    std::vector<std::string> cells;
  };
  std::vector<Column> columns;
  for (size_t i = 0; i < records.front().size(); ++i) {
    if (records.front()[i].detail) continue;
    Column& column = columns.emplace_back();
    column.title = absl::AsciiStrToUpper(
        absl::StrReplaceAll(records.front()[i].name, {{"_", " "}}));
    column.width = Width(column.title);
    for (const Record& record : records) {
      column.cells.push_back(TableText(record[i]));
      column.width = std::max(column.width, Width(column.cells.back()));
      column.right = column.right || IsNumber(record[i]);
    }
  }
  const auto line_of = [&](auto cell_of) {
    std::string line;
    for (const Column& column : columns) {
      const std::string cell = cell_of(column);
      const std::string padding(column.width - Width(cell), ' ');
      absl::StrAppend(&line, line.empty() ? "" : "  ",
                      column.right ? padding : "", cell,
                      column.right ? "" : padding);
    }
    absl::StripTrailingAsciiWhitespace(&line);
    return width > 0 ? Cut(line, width) : line;
  };
  lines.push_back(line_of([](const Column& column) { return column.title; }));
  for (size_t row = 0; row < records.size(); ++row) {
    lines.push_back(
        line_of([row](const Column& column) { return column.cells[row]; }));
  }
  return lines;
}

NumberText FormatNumber(double value, absl::string_view unit) {
  if (unit == "%") {
    // Idle time and the clock are not read in the same instant, so that nothing
    // may come out as a little less than nothing.
    const bool is_zero = std::fabs(value) < 0.05;
    return {absl::StrFormat("%.2f", is_zero ? 0.0 : value), "%"};
  }
  if (unit == "s") return FormatSeconds(value);
  if (unit == "B" || unit == "B/s") {
    constexpr absl::string_view kPrefixes[] = {"",   "Ki", "Mi",
                                               "Gi", "Ti", "Pi"};
    size_t prefix = 0;
    while (std::fabs(value) >= 1024 && prefix + 1 < std::size(kPrefixes)) {
      value /= 1024;
      ++prefix;
    }
    return {FormatPlain(value), absl::StrCat(kPrefixes[prefix], unit)};
  }
  return {FormatPlain(value), std::string(unit)};
}

}  // namespace fleetperf::cli
