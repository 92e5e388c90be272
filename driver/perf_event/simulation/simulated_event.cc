#include "driver/perf_event/simulation/simulated_event.h"

namespace fleetperf::perf_event {

void SimulatedEvent::Run(uint64_t nanoseconds, uint64_t per_second) {
  constexpr uint64_t kBillion = 1'000'000'000;
  const unsigned __int128 grown =
      static_cast<unsigned __int128>(nanoseconds) * per_second + billionths;
  count += static_cast<uint64_t>(grown / kBillion);
  billionths = static_cast<uint64_t>(grown % kBillion);
  time_running += nanoseconds;
}

void SimulatedEvent::AppendTo(std::vector<uint64_t>* words) const {
  words->push_back(count);
  const uint64_t format = attributes.read_format;
  if ((format & read_format::kGroup) == 0) {
    if ((format & read_format::kTotalTimeEnabled) != 0) {
      words->push_back(time_enabled);
    }
    if ((format & read_format::kTotalTimeRunning) != 0) {
      words->push_back(time_running);
    }
  }
  if ((format & read_format::kId) != 0) words->push_back(id);
  if ((format & read_format::kLost) != 0) words->push_back(0);
}

}  // namespace fleetperf::perf_event
