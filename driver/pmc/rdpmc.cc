#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/text/units.h"
#include "driver/pmc/commands.h"
#include "driver/pmc/table.h"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareCount;
using hardware::HardwareReader;
using hardware::UserCounter;

constexpr absl::Duration kShortest = absl::Seconds(1);
constexpr absl::Duration kLongest = absl::Hours(24);

// "0-3,8" of ascending numbers.
std::string RangesText(const std::vector<int>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    absl::StrAppend(&text, text.empty() ? "" : ",", cpus[i]);
    if (end - i > 1) absl::StrAppend(&text, "-", cpus[end - 1]);
    i = end;
  }
  return text;
}

// The CPUs on which a counter counts something, by what it counts, its index
// and its width. Types of cores differ.
using UserCounters =
    std::map<std::tuple<HardwareCount, uint32_t, unsigned>, std::vector<int>>;

UserCounters FindUserCounters(const HardwareReader& reader) {
  UserCounters counters;
  for (size_t i = 0; i < hardware::kNumHardwareCounts; ++i) {
    const auto count = static_cast<HardwareCount>(i);
    for (const int cpu : reader.cpus()) {
      if (const auto counter = reader.user_counter(count, cpu)) {
        counters[{count, counter->index, counter->width}].push_back(cpu);
      }
    }
  }
  return counters;
}

std::string TableOf(const UserCounters& counters) {
  std::vector<std::vector<std::string>> rows = {
      {"counts", "RDPMC index", "bits", "CPUs"}};
  for (const auto& [counter, cpus] : counters) {
    const auto& [count, index, width] = counter;
    rows.push_back({std::string(NameOf(count)), absl::StrFormat("0x%x", index),
                    absl::StrCat(width), RangesText(cpus)});
  }
  return AlignedTable(rows);
}

void Warn(absl::Duration time) {
  std::fprintf(
      stderr,
      "fleetperf-pmc: warning: for %s, EVERY program on this machine, in "
      "containers and sandboxes too, can read the counters below. Counts "
      "reveal what other programs compute. End the command with Ctrl-C as soon "
      "as you can.\n",
      FormatInOneUnit(time).c_str());
}

}  // namespace

absl::Status RunRdpmc(const Machine& machine, absl::Duration time) {
  if (time < kShortest || time > kLongest) {
    return absl::InvalidArgumentError("--for must be from 1s to 24h");
  }
  ASSIGN_OR_RETURN(const auto reader,
                   machine.open_reader({.allow_user_reads = true}));
  if (!reader->opens_user_reads()) {
    return absl::UnimplementedError(absl::StrCat(
        reader->origin(),
        " does not open RDPMC to other programs: each one opens its own "
        "events, and reads them by RDPMC if "
        "/sys/bus/event_source/devices/cpu/rdpmc is 1"));
  }
  Warn(time);
  RETURN_IF_ERROR(reader->Update());
  const std::string text = TableOf(FindUserCounters(*reader));
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    return absl::DataLossError("cannot write to standard output");
  }
  machine.processor->Sleep(time);
  return absl::OkStatus();
}

}  // namespace fleetperf::pmc
