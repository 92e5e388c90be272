#include "absl/time/time.h"
#include "base/status_macros.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {
namespace {

constexpr absl::Duration kMeasurement = absl::Milliseconds(10);

absl::StatusOr<std::unique_ptr<ThreadCounters>> CountThisCpu(
    int cpu, RdpmcAccess access) {
  ASSIGN_OR_RETURN(auto reader, hardware::OpenHardwareReader(
                                    {.allow_user_reads =
                                         access == RdpmcAccess::kAllPrograms}));
  return CountWholeCpu(std::move(reader), cpu);
}

// From the driver, or compared with the clock for 10 ms.
uint64_t TimestampHertz() {
  const auto reader = hardware::OpenHardwareReader();
  if (reader.ok() && (*reader)->timestamp_hertz() != 0) {
    return (*reader)->timestamp_hertz();
  }
  Processor& processor = RealProcessor();
  const absl::Duration start = processor.Now();
  const uint64_t first = processor.ReadTimestamp();
  absl::Duration now = start;
  while (now - start < kMeasurement) now = processor.Now();
  return static_cast<uint64_t>(
      static_cast<double>(processor.ReadTimestamp() - first) /
      absl::ToDoubleSeconds(now - start));
}

}  // namespace

Machine RealMachine() {
  return {.open_reader = &hardware::OpenHardwareReader,
          .open_thread_counters = CountThisCpu,
          .timestamp_hertz = TimestampHertz,
          .facts = [] { return std::vector<Fact>(); },
          .processor = &RealProcessor()};
}

}  // namespace fleetperf::pmc
