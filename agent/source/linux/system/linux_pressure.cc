#include "agent/source/linux/system/linux_pressure.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "agent/source/linux/pressure.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t { kSomeTime, kFullTime, kNumColumns };

constexpr LinuxCounter kCounters[] = {
    {{0, kPerf100NsecTimer, "% Some Stall Time",
      "Time in which at least one task waited for the resource."},
     "%",
     "/proc/pressure/RESOURCE some total",
     "of the time between the samples, unlike the kernel's decaying averages. "
     "Absent for irq"},
    {{1, kPerf100NsecTimer, "% Full Stall Time",
      "Time in which all tasks that were not idle waited for the resource."},
     "%",
     "/proc/pressure/RESOURCE full total",
     "absent for cpu: the kernel does not define it for the machine"},
};
static_assert(std::size(kCounters) == kNumColumns);

constexpr absl::string_view kResources[] = {"cpu", "memory", "io", "irq"};
constexpr size_t kCpu = 0;

}  // namespace

constinit const LinuxCounterset LinuxPressure::kCounterset = {
    .guid = "{9a7b32a9-a127-5aa0-a8e6-f713f7d69008}",
    .name = "Linux Pressure",
    .help = "Time lost while tasks wait for a resource.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "`cpu`, `memory`, `io`, and `irq` since Linux 6.1 if the kernel "
        "accounts interrupt time; none if the kernel has no pressure stall "
        "information (before 4.20, or `psi=0`)",
    .counters = kCounters};

LinuxPressure::LinuxPressure(const std::string& root)
    : Provider(MakeRegistration(kCounterset)) {
  for (const absl::string_view name : kResources) {
    resources_.push_back(
        {.utf16_name = Utf16FromUtf8(name),
         .file = OptionalFile(absl::StrCat(root, "/proc/pressure/", name))});
  }
}

absl::Status LinuxPressure::Sample(ColumnSet, const Clocks& clocks,
                                   CountersetSample* sample) {
  for (size_t i = 0; i < resources_.size(); ++i) {
    const auto text = resources_[i].file.Read(clocks, &buffer_);
    if (!text.has_value()) continue;
    const StallTimes times = ParsePressure(*text);
    sample->AddInstance(resources_[i].utf16_name, static_cast<uint32_t>(i));
    sample->Set(kSomeTime, times.some);
    // The kernel defines no full stall of the machine's CPUs, and prints 0.
    if (i != kCpu) sample->Set(kFullTime, times.full);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
