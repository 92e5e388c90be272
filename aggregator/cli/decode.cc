// decode: what is in the blocks that PerfQueryCounterData returned.

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/cli/commands.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "perflib/block_reader.h"

namespace fleetperf::cli {
namespace {

using perflib::HeaderType;
using perflib::ParsedBlock;
using perflib::QueryResult;

std::string TypeName(HeaderType type) {
  switch (type) {
    case HeaderType::kErrorReturn:
      return "PERF_ERROR_RETURN";
    case HeaderType::kSingleCounter:
      return "PERF_SINGLE_COUNTER";
    case HeaderType::kMultipleCounters:
      return "PERF_MULTIPLE_COUNTERS";
    case HeaderType::kMultipleInstances:
      return "PERF_MULTIPLE_INSTANCES";
    case HeaderType::kCounterset:
      return "PERF_COUNTERSET";
  }
  return "";  // such a result was rejected and has no values
}

// The block itself.
Record BlockRecord(const std::string& file, const ParsedBlock& block) {
  return {{.name = "file", .value = file},
          {.name = "total_size", .value = uint64_t{block.header.total_size}},
          {.name = "queries", .value = uint64_t{block.header.num_counters}},
          {.name = "perf_time", .value = block.header.perf_time_stamp},
          {.name = "perf_time_100ns", .value = block.header.perf_time_100nsec},
          {.name = "perf_freq", .value = block.header.perf_freq}};
}

Record ErrorRecord(uint64_t query, const QueryResult& result) {
  return {{.name = "query", .value = query},
          {.name = "type", .value = TypeName(result.type)},
          {.name = "status", .value = uint64_t{result.status}}};
}

// The `i`-th value of a result.
Record ValueRecord(uint64_t query, const ParsedBlock& block,
                   const QueryResult& result, size_t i) {
  const auto ids = block.CounterIds(result);
  const auto instances = block.Instances(result);
  const size_t columns = ids.empty() ? 1 : ids.size();
  const uint32_t size = block.ValueSizes(result)[i];
  Field counter{.name = "counter"};
  if (!ids.empty()) counter.value = uint64_t{ids[i % columns]};
  Field instance{.name = "instance"};
  Field instance_id{.name = "instance_id"};
  if (!instances.empty()) {
    const perflib::InstanceView& view = instances[i / columns];
    instance.value = block.Name(view);
    instance_id.value = uint64_t{view.instance_id};
  }
  Field value{.name = "value"};
  if (size == sizeof(uint32_t) || size == sizeof(uint64_t)) {
    value.value = absl::StrCat(block.Values(result)[i]);
  }
  return {{.name = "query", .value = query},
          {.name = "type", .value = TypeName(result.type)},
          counter,
          instance,
          instance_id,
          {.name = "size", .value = uint64_t{size}},
          value};
}

// Calls `use` with the records of all results.
template <typename Use>
void ForEachRecord(const ParsedBlock& block, Use use) {
  for (size_t query = 0; query < block.results.size(); ++query) {
    const QueryResult& result = block.results[query];
    if (result.type == HeaderType::kErrorReturn) {
      use(ErrorRecord(query, result));
    }
    for (size_t i = 0; i < result.values.count; ++i) {
      if (block.ValueSizes(result)[i] == perflib::kRejectedValue) continue;
      use(ValueRecord(query, block, result, i));
    }
  }
}

void PrintJson(const std::string& file, const ParsedBlock& block) {
  std::puts(ToJson(BlockRecord(file, block)).c_str());
  ForEachRecord(
      block, [](const Record& record) { std::puts(ToJson(record).c_str()); });
}

// The columns of tables and CSV, in which every record has the same.
Record Tabular(const std::string& file, const Record& record) {
  Record row = {{.name = "file", .value = file}};
  for (const char* name : {"query", "type", "counter", "instance",
                           "instance_id", "size", "value", "status"}) {
    Field field{.name = name};
    for (const Field& own : record) {
      if (own.name == name) field.value = own.value;
    }
    row.push_back(std::move(field));
  }
  return row;
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
  const auto printer = MakePrinter(Format::kTable);
  ForEachRecord(block, [&](const Record& record) {
    Record row = Tabular(file, record);
    row.erase(row.begin());  // the file is above
    printer->Print(row);
  });
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
          ForEachRecord(block, [&](const Record& record) {
            csv->Print(Tabular(file, record));
          });
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
