// Samples a piece of code a thousand times a second, by cycles, or by the clock
// where the machine has no hardware PMU, and prints the most frequent address.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/sampler.h"

namespace {

using namespace fleetperf::perf_event;

// Takes about 0.2 s of CPU time.
void Work() {
  volatile uint64_t number = 1;
  for (int i = 0; i < 300'000'000; ++i) number = number * 3 + 1;
}

absl::Status SampleWork(const Event& event) {
  ASSIGN_OR_RETURN(
      Counter counter,
      Builder(event).SampleFrequency(1000).Sample(sample::kIp).Build());
  ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create(std::move(counter), 16));
  RETURN_IF_ERROR(sampler.counter().Enable());
  Work();
  RETURN_IF_ERROR(sampler.counter().Disable());

  std::map<uint64_t, int> samples;
  int total = 0;
  Record record;
  while (const auto raw = sampler.Next()) {
    RETURN_IF_ERROR(sampler.Parse(*raw, &record));
    if (const auto* sample = std::get_if<Sample>(&record.data)) {
      ++samples[*sample->ip()];
      ++total;
    }
  }
  RETURN_IF_ERROR(sampler.status());
  if (samples.empty()) return absl::UnavailableError("no samples");
  const auto most = std::max_element(
      samples.begin(), samples.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  std::printf("%d samples, %d of them at 0x%" PRIx64 "\n", total, most->second,
              most->first);
  return absl::OkStatus();
}

}  // namespace

int main() {
  absl::Status status = SampleWork(Hardware(HardwareEvent::kCpuCycles));
  if (absl::IsNotFound(status)) {
    std::printf("Sampling by the clock instead of cycles. %s\n",
                status.ToString().c_str());
    status = SampleWork(Software(SoftwareEvent::kCpuClock));
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
