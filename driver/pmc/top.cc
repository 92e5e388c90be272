#include "driver/pmc/top.h"

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "driver/pmc/pcm_row.h"
#include "driver/pmc/table.h"
#include "driver/pmc/terminal.h"
#include "nlohmann/json.hpp"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareReader;
using hardware::HardwareReading;

constexpr char kHomeAndClear[] = "\x1b[H\x1b[J";

using Readings = std::map<int, HardwareReading>;

absl::StatusOr<Readings> ReadAll(HardwareReader& reader) {
  RETURN_IF_ERROR(reader.Update());
  Readings readings;
  for (const int cpu : reader.cpus()) readings[cpu] = reader.ReadingOf(cpu);
  return readings;
}

struct NamedRow {
  std::string name;
  double seconds;
  PcmRow row;
};

// The rows of the CPUs that were online at both times, and of all together.
std::vector<NamedRow> RowsOf(const Readings& before, const Readings& after,
                             uint64_t timestamp_hertz) {
  std::vector<NamedRow> rows;
  HardwareReading total;
  for (const auto& [cpu, reading] : after) {
    const auto earlier = before.find(cpu);
    if (earlier == before.end()) continue;
    const HardwareReading growth = GrowthOf(earlier->second, reading);
    rows.push_back({absl::StrCat(cpu), absl::ToDoubleSeconds(growth.time),
                    MakePcmRow(growth, timestamp_hertz)});
    AddToTotal(growth, &total);
  }
  const double seconds = rows.empty() ? 0 : rows.front().seconds;
  rows.push_back({"all", seconds, MakePcmRow(total, timestamp_hertz)});
  return rows;
}

std::string PcmCell(const PcmColumn& column, const PcmRow& row) {
  const std::optional<double>& value = row.*column.value;
  return column.digits < 0 ? FormatCount(value)
                           : FormatNumber(value, column.digits);
}

// Leaves out columns that no CPU has.
std::string TableOf(const std::vector<NamedRow>& rows) {
  std::vector<std::vector<std::string>> cells(rows.size() + 1);
  cells[0] = {"CPU"};
  for (size_t i = 0; i < rows.size(); ++i) cells[i + 1] = {rows[i].name};
  for (const PcmColumn& column : PcmColumns()) {
    if (!(rows.back().row.*column.value)) continue;
    cells[0].push_back(column.title);
    for (size_t i = 0; i < rows.size(); ++i) {
      cells[i + 1].push_back(PcmCell(column, rows[i].row));
    }
  }
  return AlignedTable(cells);
}

std::string JsonOf(const std::vector<NamedRow>& rows) {
  std::string lines;
  for (const NamedRow& named : rows) {
    nlohmann::ordered_json object = {{"cpu", named.name},
                                     {"seconds", named.seconds}};
    for (const PcmColumn& column : PcmColumns()) {
      const std::optional<double>& value = named.row.*column.value;
      if (value) object[column.json] = *value;
    }
    absl::StrAppend(&lines, object.dump(), "\n");
  }
  return lines;
}

}  // namespace

absl::Status RunTop(const Machine& machine, const TopOptions& options) {
  ASSIGN_OR_RETURN(const auto reader, machine.open_reader());
  ASSIGN_OR_RETURN(Readings last, ReadAll(*reader));
  const bool replaces = !options.json && CanMoveCursor();
  for (uint32_t i = 0; options.count == 0 || i < options.count; ++i) {
    machine.processor->Sleep(options.interval);
    ASSIGN_OR_RETURN(Readings now, ReadAll(*reader));
    const std::vector<NamedRow> rows =
        RowsOf(last, now, reader->timestamp_hertz());
    const std::string text =
        options.json
            ? JsonOf(rows)
            : absl::StrCat(replaces ? kHomeAndClear : (i > 0 ? "\n" : ""),
                           TableOf(rows));
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      return absl::DataLossError("cannot write to standard output");
    }
    last = std::move(now);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::pmc
