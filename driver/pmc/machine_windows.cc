#include "base/status_macros.h"
#include "driver/pmc/machine.h"

namespace fleetperf::pmc {
namespace {

absl::StatusOr<std::unique_ptr<ThreadCounters>> CountThisCpu(int cpu) {
  ASSIGN_OR_RETURN(auto reader,
                   hardware::OpenHardwareReader({.allow_user_reads = true}));
  RETURN_IF_ERROR(reader->Update());
  return CountWholeCpu(std::move(reader), cpu);
}

uint64_t TimestampHertz() {
  const auto reader = hardware::OpenHardwareReader();
  return reader.ok() ? (*reader)->timestamp_hertz() : 0;
}

}  // namespace

Machine RealMachine() {
  return {.open_reader = [] { return hardware::OpenHardwareReader(); },
          .open_thread_counters = CountThisCpu,
          .timestamp_hertz = TimestampHertz,
          .facts = [] { return std::vector<Fact>(); },
          .processor = &RealProcessor()};
}

}  // namespace fleetperf::pmc
