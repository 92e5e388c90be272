#include "aggregator/cli/output.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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

nlohmann::ordered_json ToJsonObject(const Record& record);

nlohmann::ordered_json ToJsonValue(const Field::Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Held, std::vector<Record>>) {
          auto list = nlohmann::ordered_json::array();
          for (const Record& record : held)
            list.push_back(ToJsonObject(record));
          return list;
        } else {
          return held;
        }
      },
      value);
}

nlohmann::ordered_json ToJsonObject(const Record& record) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Field& field : record) {
    if (field.detail && IsNull(field)) continue;
    object[field.name] = ToJsonValue(field.value);
  }
  return object;
}

// Names come from machines, so invalid UTF-8 is replaced.
std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace);
}

// Returns the full value, for programs.
std::string PlainText(const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
  if (IsNull(field)) return "";
  return Dump(ToJsonValue(field.value));
}

std::string QuoteCsv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
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

}  // namespace

std::string TableText(const Field& field) {
  return Printable(field.text.value_or(PlainText(field)));
}

size_t DisplayWidth(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), StartsCharacter);
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

std::string ToJson(const Record& record) { return Dump(ToJsonObject(record)); }

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
    column.width = DisplayWidth(column.title);
    for (const Record& record : records) {
      column.cells.push_back(TableText(record[i]));
      column.width = std::max(column.width, DisplayWidth(column.cells.back()));
      column.right = column.right || IsNumber(record[i]);
    }
  }
  const auto line_of = [&](auto cell_of) {
    std::string line;
    for (const Column& column : columns) {
      const std::string cell = cell_of(column);
      const std::string padding(column.width - DisplayWidth(cell), ' ');
      absl::StrAppend(&line, line.empty() ? "" : "  ",
                      column.right ? padding : "", cell,
                      column.right ? "" : padding);
    }
    absl::StripTrailingAsciiWhitespace(&line);
    return width > 0 ? CutEnd(line, width) : line;
  };
  lines.push_back(line_of([](const Column& column) { return column.title; }));
  for (size_t row = 0; row < records.size(); ++row) {
    lines.push_back(
        line_of([row](const Column& column) { return column.cells[row]; }));
  }
  return lines;
}

}  // namespace fleetperf::cli
