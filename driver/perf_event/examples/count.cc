// Counts the cycles and instructions of a piece of code, or its page faults
// where the machine has no hardware PMU.

#include <cinttypes>
#include <cstdio>
#include <numeric>
#include <vector>

#include "base/status_macros.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/group.h"

namespace {

using namespace fleetperf::perf_event;

void Work() {
  std::vector<uint64_t> numbers(1 << 20);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::printf("Sum: %" PRIu64 "\n",
              std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}));
}

absl::Status CountCycles() {
  ASSIGN_OR_RETURN(Group group,
                   Group::Create(Builder(Hardware(HardwareEvent::kCpuCycles))));
  RETURN_IF_ERROR(
      group.Add(Builder(Hardware(HardwareEvent::kInstructions))).status());
  RETURN_IF_ERROR(group.Enable());
  Work();
  RETURN_IF_ERROR(group.Disable());
  GroupValues values;
  RETURN_IF_ERROR(group.Read(&values));
  std::printf("%" PRIu64 " cycles, %" PRIu64 " instructions\n",
              values.entries()[0].value, values.entries()[1].value);
  return absl::OkStatus();
}

absl::Status CountFaults() {
  ASSIGN_OR_RETURN(Counter faults,
                   Builder(Software(SoftwareEvent::kPageFaults)).Build());
  RETURN_IF_ERROR(faults.Enable());
  Work();
  RETURN_IF_ERROR(faults.Disable());
  ASSIGN_OR_RETURN(const uint64_t count, faults.Read());
  std::printf("%" PRIu64 " page faults\n", count);
  return absl::OkStatus();
}

}  // namespace

int main() {
  absl::Status status = CountCycles();
  if (absl::IsNotFound(status)) {
    std::printf("Counting page faults instead of cycles. %s\n",
                status.ToString().c_str());
    status = CountFaults();
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
