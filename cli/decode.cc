// decode: prints the contents of blocks from PerfQueryCounterData.

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/os/files.h"
#include "base/status_macros.h"
#include "base/text/printable.h"
#include "cli/command_progress.h"
#include "cli/commands.h"
#include "cli/decode_records.h"
#include "cli/output.h"
#include "cli/times.h"
#include "perflib/block_reader.h"
#include "perflib/counter_type.h"
#include "perflib/utf16.h"
#include "perflib/v1/data_reader.h"

namespace fleetperf::cli {
namespace {

using perflib::ParsedBlock;
using perflib::ParsedV1Data;
using perflib::V1Instance;
using perflib::V1Object;

void PrintJson(const std::string& file, const ParsedBlock& block,
               const CaptureTypes& types) {
  ForEachDecodedObject(file, block, types,
                       [](const Record& record) { PutLine(ToJson(record)); });
}

void PrintCsv(const std::string& file, const ParsedBlock& block,
              RecordPrinter* csv) {
  ForEachDecodedRow(block, [&](const Record& row) {
    Record with_file = {{.name = "file", .value = file}};
    with_file.insert(with_file.end(), row.begin(), row.end());
    csv->Print(with_file);
  });
}

// Prints unusual content that was parsed nevertheless.
void PrintWarnings(const ParsedBlock& block) {
  if (block.warning_count == 0) return;
  PutLine(absl::StrCat("warnings: ", block.warning_count));
  for (const perflib::Defect& warning : block.warnings) {
    PutLine(absl::StrCat("  ", warning.ToString()));
  }
  if (block.warning_count > block.warnings.size()) {
    PutLine(absl::StrCat("  and ", block.warning_count - block.warnings.size(),
                         " more"));
  }
}

void PrintTable(const std::string& file, const ParsedBlock& block) {
  PutLine(absl::StrCat(Printable(file), ": ", block.header.total_size,
                       " bytes, ", block.header.num_counters, " queries, ",
                       TimeText(perflib::TimeFromPerfTime100NSec(
                           block.header.perf_time_100nsec)),
                       ", PerfTimeStamp ", block.header.perf_time_stamp,
                       ", PerfFreq ", block.header.perf_freq));
  PrintWarnings(block);
  const auto printer = MakePrinter(Format::kTable);
  ForEachDecodedRow(block, [&](const Record& row) { printer->Print(row); });
  printer->Finish();
}

std::string DirectoryOf(const std::string& file) {
  const size_t end = file.find_last_of("/\\");
  return end == std::string::npos ? "." : file.substr(0, end + 1);
}

void Report(const std::string& text, Progress* progress) {
  std::fflush(stdout);
  if (progress != nullptr) {
    progress->Print(text);
  } else {
    std::fputs(text.c_str(), stderr);
  }
}

// Returns the defects of a block, one per line.
std::string DefectLines(const std::string& file, const ParsedBlock& block) {
  std::string lines;
  for (const perflib::Defect& defect : block.defects) {
    absl::StrAppend(&lines, Printable(file), ": ", defect.ToString(), "\n");
  }
  if (block.defect_count > block.defects.size()) {
    absl::StrAppend(&lines, Printable(file), ": and ",
                    block.defect_count - block.defects.size(), " more\n");
  }
  return lines;
}

void PrintBlock(Format format, const std::string& file,
                const ParsedBlock& block, const CaptureTypes& types,
                RecordPrinter* csv) {
  if (!block.has_header) return;
  switch (format) {
    case Format::kJson:
      return PrintJson(file, block, types);
    case Format::kCsv:
      return PrintCsv(file, block, csv);
    default:
      return PrintTable(file, block);
  }
}

// Empty if the provider gives none.
Field::Value UniqueId(const V1Instance& instance) {
  if (instance.unique_id == perflib::kNoUniqueId) return {};
  return static_cast<uint32_t>(instance.unique_id);
}

void UseInstance(const ParsedV1Data& data, const V1Object& object,
                 const V1Instance& instance,
                 absl::FunctionRef<void(const Record&)> use) {
  const std::string name =
      perflib::Utf8FromUtf16(data.Utf16FullName(object, instance));
  for (const auto& counter : data.Counters(object)) {
    const perflib::V1Value value = data.ValueOf(instance, counter);
    use({{.name = "object", .value = object.header.object_name_title_index},
         {.name = "instance", .value = name},
         {.name = "unique_id", .value = UniqueId(instance)},
         {.name = "counter", .value = counter.counter_name_title_index},
         {.name = "type",
          .value = perflib::CounterTypeName(counter.counter_type)},
         {.name = "size", .value = value.size},
         {.name = "value", .value = value.value}});
  }
}

// Returns whether the bytes begin as the value of HKEY_PERFORMANCE_DATA does.
bool IsV1Data(absl::string_view bytes) {
  return absl::StartsWith(bytes, absl::string_view("P\0E\0R\0F\0", 8));
}

// Calls `use` with a record for each value: object and counter are the title
// indexes, because names are not in the data. Returns the defects.
std::vector<std::string> ForEachV1Value(
    absl::string_view bytes, absl::FunctionRef<void(const Record&)> use) {
  ParsedV1Data data;
  perflib::ReadV1Data(bytes, &data);
  for (const V1Object& object : data.objects) {
    for (const V1Instance& instance : data.Instances(object)) {
      if (instance.is_sound()) UseInstance(data, object, instance, use);
    }
  }
  std::vector<std::string> defects;
  for (const perflib::Defect& defect : data.defects) {
    defects.push_back(defect.ToString());
  }
  if (data.defect_count > data.defects.size()) {
    defects.push_back(
        absl::StrCat("and ", data.defect_count - data.defects.size(), " more"));
  }
  return defects;
}

// Prints data of PerfLib V1, and returns its defects, one per line.
std::string PrintV1(Format format, const std::string& file,
                    const std::string& bytes, RecordPrinter* csv) {
  const auto table = MakePrinter(Format::kTable);
  const auto defects = ForEachV1Value(bytes, [&](const Record& row) {
    if (format != Format::kJson && format != Format::kCsv) {
      return table->Print(row);
    }
    Record with_file = {{.name = "file", .value = file}};
    with_file.insert(with_file.end(), row.begin(), row.end());
    if (format == Format::kCsv) return csv->Print(with_file);
    PutLine(ToJson(with_file));
  });
  table->Finish();
  std::string lines;
  for (const std::string& defect : defects) {
    absl::StrAppend(&lines, Printable(file), ": ", defect, "\n");
  }
  return lines;
}

}  // namespace

absl::Status Decode(Format format, const std::vector<std::string>& files) {
  const auto progress = MakeProgress("decoding", Printing::kMeanwhile);
  const auto csv = MakePrinter(Format::kCsv);
  ParsedBlock block;
  std::optional<std::string> directory;  // of `types`
  CaptureTypes types;
  size_t done = 0;
  size_t wrong = 0;
  for (const std::string& file : files) {
    if (HasOutputFailed()) break;
    if (progress != nullptr) {
      progress->Update(ProgressBar(static_cast<double>(done++) /
                                   static_cast<double>(files.size())));
    }
    const auto bytes = ReadFile(file);
    if (!bytes.ok()) {
      ++wrong;
      Report(absl::StrCat(Printable(bytes.status().message()), "\n"),
             progress.get());
      continue;
    }
    if (IsV1Data(*bytes)) {
      const std::string lines = PrintV1(format, file, *bytes, csv.get());
      Report(lines, progress.get());
      wrong += !lines.empty();
      continue;
    }
    perflib::ReadBlock(*bytes, &block);
    if (DirectoryOf(file) != directory) {
      directory = DirectoryOf(file);
      auto read = CaptureTypes::Read(*directory);
      if (!read.ok()) {
        ++wrong;
        Report(absl::StrCat(Printable(read.status().message()), "\n"),
               progress.get());
      }
      types = std::move(read).value_or(CaptureTypes());
    }
    PrintBlock(format, file, block, types, csv.get());
    Report(DefectLines(file, block), progress.get());
    wrong += block.defect_count > 0;
  }
  return wrong == 0 ? absl::OkStatus() : AlreadyReported();
}

}  // namespace fleetperf::cli
