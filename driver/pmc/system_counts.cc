#include "driver/pmc/system_counts.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "driver/events/events.h"
#include "driver/pmc/pcm_table.h"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareCount;
using hardware::HardwareReading;

struct DefaultCount {
  HardwareCount count;
  const char* event;  // as perf names it
};
constexpr DefaultCount kDefaultCounts[] = {
    {HardwareCount::kInstructions, "instructions"},
    {HardwareCount::kCycles, "cycles"},
    {HardwareCount::kReferenceCycles, "ref-cycles"},
    {HardwareCount::kBranches, "branches"},
    {HardwareCount::kBranchMisses, "branch-misses"},
    {HardwareCount::kL3References, "cache-references"},
    {HardwareCount::kL3Misses, "cache-misses"}};

std::set<HardwareCount> DefaultCounts() {
  std::set<HardwareCount> counts;
  for (const DefaultCount& one : kDefaultCounts) counts.insert(one.count);
  return counts;
}

absl::StatusOr<std::vector<events::EventCode>> ParseCodes(
    const std::vector<std::string>& texts) {
  std::vector<events::EventCode> codes;
  for (const std::string& text : texts) {
    const auto code = events::ParseCode(text);
    if (!code) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--event: \"", text,
          "\" is not CODE/UMASK in hexadecimal, such as D1/08; fleetperf-pmc "
          "list shows the events of this CPU"));
    }
    codes.push_back(*code);
  }
  return codes;
}

StatCount CountOf(std::string event, std::optional<uint64_t> value,
                  const absl::Status& status) {
  StatCount count{.event = std::move(event), .status = status};
  if (!status.ok()) return count;
  if (value) {
    count.value = static_cast<double>(*value);
  } else {
    count.status = absl::NotFoundError("this CPU does not count the event");
  }
  return count;
}

}  // namespace

absl::StatusOr<SystemCounts> SystemCounts::Start(
    const Machine& machine, const std::vector<std::string>& events) {
  SystemCounts counts;
  counts.events_ = events;
  hardware::ReaderOptions options;
  ASSIGN_OR_RETURN(options.events, ParseCodes(events));
  auto reader = machine.open_reader(options);
  if (absl::IsInvalidArgument(reader.status())) return reader.status();
  if (reader.ok() && events.empty()) (*reader)->Prefer(DefaultCounts());
  counts.status_ = reader.ok() ? (*reader)->Update() : reader.status();
  if (!counts.status_.ok()) return counts;
  counts.reader_ = *std::move(reader);
  for (const int cpu : counts.reader_->cpus()) {
    counts.before_[cpu] = counts.reader_->ReadingOf(cpu);
  }
  return counts;
}

std::vector<StatCount> SystemCounts::Read() {
  HardwareReading total;
  if (status_.ok()) status_ = reader_->Update();
  if (status_.ok()) {
    for (const auto& [cpu, before] : before_) {
      AddToTotal(GrowthOf(before, reader_->ReadingOf(cpu)), &total);
    }
  }
  std::vector<StatCount> counts;
  for (size_t i = 0; i < events_.size(); ++i) {
    std::optional<uint64_t> value;
    if (i < total.chosen.size()) value = total.chosen[i];
    counts.push_back(CountOf(events_[i], value, status_));
  }
  if (!events_.empty()) return counts;
  for (const DefaultCount& one : kDefaultCounts) {
    counts.push_back(CountOf(one.event, total[one.count], status_));
  }
  return counts;
}

}  // namespace fleetperf::pmc
