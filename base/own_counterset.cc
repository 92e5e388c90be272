#include "base/own_counterset.h"

#include <utility>

#include "base/logging.h"
#include "base/os/os.h"
#include "perflib/counter_type.h"

namespace fleetperf {
namespace {

perflib::CountersetRegistration RegistrationOf(
    absl::string_view guid, absl::string_view name, absl::string_view help,
    const std::vector<OwnCounterset::Group>& groups) {
  std::vector<perflib::CounterSpec> specs;
  for (const auto& group : groups) {
    specs.insert(specs.end(), group.counters.begin(), group.counters.end());
  }
  return perflib::MakeRegistration(guid, name, help, "fleetperf",
                                   perflib::kCountersetSingleInstance, specs);
}

}  // namespace

OwnCounterset::OwnCounterset(absl::string_view guid, absl::string_view name,
                             absl::string_view help, std::vector<Group> groups)
    : groups_(std::move(groups)),
      registration_(RegistrationOf(guid, name, help, groups_)) {}

OwnCounterset::Values OwnCounterset::Read() const {
  Values values;
  values.reserve(registration_.counters.size());
  for (const Group& group : groups_) {
    Values part = group.read();
    part.resize(group.counters.size());
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

OwnCounterset::Group ProcessCounters() {
  using perflib::kPerf100NsecTimer;
  using perflib::kPerfCounterLargeDelta;
  using perflib::kPerfCounterLargeRawcount;
  return {
      {{100, kPerf100NsecTimer, "% Processor Time",
        "Processor time of the process, relative to one processor: more than "
        "100 if it ran on several."},
       {101, kPerfCounterLargeRawcount, "Working Set",
        "Resident memory in bytes."},
       {102, kPerfCounterLargeRawcount, "Thread Count",
        "Threads of the process; 0 on Windows."},
       {103, kPerfCounterLargeRawcount, "Handle Count",
        "Open files and connections."},
       {104, kPerfCounterLargeDelta, "Warnings Logged", "Warnings in the log."},
       {105, kPerfCounterLargeDelta, "Errors Logged",
        "Errors in the log, such as damage."},
       {106, kPerfCounterLargeDelta, "Log Lines Suppressed",
        "Lines left out of the log because their cause was logged shortly "
        "before."}},
      [] {
        const ProcessUsage usage = GetProcessUsage();
        const LogCounts lines = CountLogLines();
        return OwnCounterset::Values{
            static_cast<uint64_t>(usage.cpu_time / absl::Nanoseconds(100)),
            usage.resident_bytes,
            usage.threads,
            usage.open_files,
            lines.warnings,
            lines.errors,
            lines.suppressed};
      }};
}

}  // namespace fleetperf
