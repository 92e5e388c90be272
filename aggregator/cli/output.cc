#include "aggregator/cli/output.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "aggregator/cli/table.h"
#include "aggregator/cli/terminal.h"
#include "base/printable.h"

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
        } else if constexpr (std::is_same_v<Held, Record>) {
          return ToJsonObject(held);
        } else if constexpr (std::is_same_v<Held, uint64_t> ||
                             std::is_same_v<Held, int64_t>) {
          return absl::StrCat(held);
        } else {
          return held;
        }
      },
      value);
}

nlohmann::ordered_json ToJsonObject(const Record& record) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Field& field : record) {
    if (!field.is_in(kInJson) || (field.detail && IsNull(field))) continue;
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
  if (IsNull(field)) return "";
  if (const auto* fields = std::get_if<Record>(&field.value)) {
    return absl::StrJoin(*fields, " ", [](std::string* out, const Field& one) {
      absl::StrAppend(out, one.name, "=", PlainText(one));
    });
  }
  const nlohmann::ordered_json json = ToJsonValue(field.value);
  return json.is_string() ? json.get<std::string>() : Dump(json);
}

std::string QuoteCsv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

class TablePrinter : public RecordPrinter {
 public:
  void Print(const Record& record) override { records_.push_back(record); }
  void Finish() override {
    for (const std::string& line : FormatTable(records_, TableWidth())) {
      PutLine(line);
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
    for (const Field& field : record) {
      if (field.is_in(kInCsv)) cells.push_back(QuoteCsv(text(field)));
    }
    PutLine(absl::StrJoin(cells, ","));
  }

  bool has_header_ = false;
};

class JsonPrinter : public RecordPrinter {
 public:
  void Print(const Record& record) override { PutLine(ToJson(record)); }
};

}  // namespace

void Put(absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    NoteOutputError();
  }
}

void PutLine(absl::string_view line, absl::string_view end) {
  if (IsTerminal()) {
    Put(Printable(line));
  } else {
    Put(line);
  }
  Put(end);
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

}  // namespace fleetperf::cli
