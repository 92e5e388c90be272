#include "aggregator/export/active_machine.h"

#include <algorithm>
#include <cstdint>

#include "base/status_macros.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

// Ticks may wait as long at an agent.
constexpr absl::Duration kLongestBatch = absl::Minutes(5);
constexpr absl::Duration kSilent = absl::Minutes(6);

}  // namespace

bool IsSilent(const ActiveMachine& machine, absl::Duration now) {
  return now - machine.at >=
         std::max(kSilent,
                  machine.shortest * kMaxIntervalsBefore + kLongestBatch);
}

absl::Status ReadLastTicks(const std::string& name,
                           const ActiveMachine& machine, Store* store,
                           absl::FunctionRef<bool()> is_stopping,
                           MachineEncoder* encoder) {
  for (const absl::Duration interval : machine.intervals) {
    RETURN_IF_ERROR(store->Read(
        {.machine = name,
         .from = machine.newest - interval * kMaxIntervalsRead,
         .to = machine.newest,
         .filter =
             [&](const CollectedQuery& query) {
               return !query.is_thinned() && query.interval == interval &&
                      encoder->Selects(query);
             },
         .columns =
             [&](const CollectedQuery& query) {
               return encoder->WantedColumns(query);
             }},
        [&](const Frame& frame) {
          if (is_stopping()) return absl::CancelledError("stopping");
          if (!frame.clocks->empty()) {
            encoder->BeginFrame(frame,
                                static_cast<uint32_t>(frame.clocks->size()));
          }
          return absl::OkStatus();
        },
        [](const Loss&) {}));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
