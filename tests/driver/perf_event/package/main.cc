#include "driver/perf_event/builder.h"
#include "driver/perf_event/event_parser.h"
#include "driver/perf_event/simulation/simulated_system.h"

using namespace fleetperf::perf_event;

int main() {
  SimulatedSystem machine;
  const auto cycles = ParseEvent("cycles", machine);
  machine.SetRate(*cycles, 7);
  const auto counter = Builder(*cycles, machine).Enabled().Build();
  machine.Advance(absl::Seconds(6));
  return *counter->Read() == 42 ? 0 : 1;
}
