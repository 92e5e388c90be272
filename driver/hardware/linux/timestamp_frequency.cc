#include "driver/hardware/linux/timestamp_frequency.h"

#include <cmath>

#include "absl/time/time.h"
#include "base/os/clock.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/mmap_page.h"

namespace fleetperf::hardware {
namespace {

constexpr double kNanoseconds = 1e9;
constexpr absl::Duration kMeasurement = absl::Milliseconds(10);

// ns = cycles · time_mult / 2^time_shift.
uint64_t HertzOf(const volatile perf_event::MmapPage& page) {
  namespace capability = perf_event::capability;
  const uint64_t needed = capability::kBit0IsDeprecated | capability::kUserTime;
  if ((page.capabilities & needed) != needed || page.time_mult == 0) return 0;
  return static_cast<uint64_t>(
      std::llround(std::ldexp(kNanoseconds, page.time_shift) / page.time_mult));
}

// 0: the kernel does not convert it.
uint64_t KernelHertz(perf_event::System& system) {
  const auto counter =
      perf_event::Builder(
          perf_event::Software(perf_event::SoftwareEvent::kDummy), system)
          .Enabled()
          .Build();
  if (!counter.ok()) return 0;
  void* address;
  if (system.Map(counter->descriptor(), system.page_size(), 0,
                 /*writable=*/false, &address) != 0) {
    return 0;
  }
  const uint64_t hertz =
      HertzOf(*static_cast<const volatile perf_event::MmapPage*>(address));
  system.Unmap(address, system.page_size());
  return hertz;
}

uint64_t MeasuredHertz(perf_event::System& system) {
  const Clock& clock = Clock::Real();
  const absl::Duration start = clock.Monotonic();
  const uint64_t first = system.ReadTimestampCounter();
  absl::Duration now = start;
  while (now - start < kMeasurement) now = clock.Monotonic();
  const uint64_t last = system.ReadTimestampCounter();
  return static_cast<uint64_t>(std::llround(
      static_cast<double>(last - first) / absl::ToDoubleSeconds(now - start)));
}

}  // namespace

uint64_t TimestampHertz(perf_event::System& system) {
  if (!system.has_rdpmc()) return 0;
  const uint64_t hertz = KernelHertz(system);
  return hertz != 0 ? hertz : MeasuredHertz(system);
}

}  // namespace fleetperf::hardware
