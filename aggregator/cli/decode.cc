// decode: what is in the blocks that PerfQueryCounterData returned.

#include <cstdio>
#include <string>
#include <vector>

#include "aggregator/cli/commands.h"
#include "aggregator/cli/decode_records.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "perflib/block_reader.h"

namespace fleetperf::cli {
namespace {

using perflib::ParsedBlock;

void PrintJson(const std::string& file, const ParsedBlock& block) {
  ForEachDecodedObject(file, block, [](const Record& record) {
    std::puts(ToJson(record).c_str());
  });
}

void PrintCsv(const std::string& file, const ParsedBlock& block,
              RecordPrinter* csv) {
  ForEachDecodedRow(block, [&](const Record& row) {
    Record with_file = {{.name = "file", .value = file}};
    with_file.insert(with_file.end(), row.begin(), row.end());
    csv->Print(with_file);
  });
}

// What was read although it is unusual.
void PrintWarnings(const ParsedBlock& block) {
  if (block.warning_count == 0) return;
  std::printf("warnings: %llu\n",
              static_cast<unsigned long long>(block.warning_count));
  for (const perflib::Defect& warning : block.warnings) {
    std::printf("  %s\n", warning.ToString().c_str());
  }
  if (block.warning_count > block.warnings.size()) {
    std::printf("  and %llu more\n",
                static_cast<unsigned long long>(block.warning_count -
                                                block.warnings.size()));
  }
}

void PrintTable(const std::string& file, const ParsedBlock& block) {
  std::printf(
      "%s: %u bytes, %u queries, %s, PerfTimeStamp %lld, PerfFreq %lld\n",
      Printable(file).c_str(), block.header.total_size,
      block.header.num_counters,
      FormatUtc(
          perflib::TimeFromPerfTime100NSec(block.header.perf_time_100nsec))
          .c_str(),
      static_cast<long long>(block.header.perf_time_stamp),
      static_cast<long long>(block.header.perf_freq));
  PrintWarnings(block);
  const auto printer = MakePrinter(Format::kTable);
  ForEachDecodedRow(block, [&](const Record& row) { printer->Print(row); });
  printer->Finish();
}

// Whether nothing in the block was rejected.
bool ReportDefects(const std::string& file, const ParsedBlock& block) {
  std::fflush(stdout);
  for (const perflib::Defect& defect : block.defects) {
    std::fprintf(stderr, "%s: %s\n", Printable(file).c_str(),
                 defect.ToString().c_str());
  }
  if (block.defect_count > block.defects.size()) {
    std::fprintf(stderr, "%s: and %llu more\n", Printable(file).c_str(),
                 static_cast<unsigned long long>(block.defect_count -
                                                 block.defects.size()));
  }
  return block.defect_count == 0;
}

}  // namespace

absl::Status Decode(Format format, const std::vector<std::string>& files) {
  const auto csv = MakePrinter(Format::kCsv);
  ParsedBlock block;
  size_t wrong = 0;
  for (const std::string& file : files) {
    const auto bytes = ReadFile(file);
    if (!bytes.ok()) {
      ++wrong;
      std::fprintf(stderr, "%s\n", Printable(bytes.status().message()).c_str());
      continue;
    }
    perflib::ReadBlock(*bytes, &block);
    if (block.has_header) {
      switch (format) {
        case Format::kJson:
          PrintJson(file, block);
          break;
        case Format::kCsv:
          PrintCsv(file, block, csv.get());
          break;
        default:
          PrintTable(file, block);
          break;
      }
    }
    wrong += !ReportDefects(file, block);
  }
  return wrong == 0 ? absl::OkStatus() : AlreadyReported();
}

}  // namespace fleetperf::cli
