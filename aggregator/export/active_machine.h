// A machine whose series go on.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_ACTIVE_MACHINE_H_
#define FLEETPERF_AGGREGATOR_EXPORT_ACTIVE_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "aggregator/export/machine_encoder.h"
#include "aggregator/samples/labels.h"
#include "aggregator/store/store.h"

namespace fleetperf::aggregator {

struct ActiveMachine {
  absl::Duration at;  // of its last new samples: Clock::Monotonic()
  absl::Time newest = absl::InfinitePast();  // tick
  absl::Duration shortest;                   // interval of the last samples
  std::vector<absl::Duration> intervals;     // of its queries
  Labels labels;                             // of its series
  std::string info;  // the series fleetperf_machine_info
  // The time of that series' newest sample, as ExportSample::unix_millis.
  int64_t info_time = INT64_MIN;
};

// Whether a machine has sent nothing for longer than agents keep ticks, if
// everything that arrived until `now` is known.
bool IsSilent(const ActiveMachine& machine, absl::Duration now);

// Announces the last ticks of all queries of a machine to `encoder`, whose End
// then ends their series. Returns Cancelled soon after `is_stopping`.
absl::Status ReadLastTicks(const std::string& name,
                           const ActiveMachine& machine, Store* store,
                           absl::FunctionRef<bool()> is_stopping,
                           MachineEncoder* encoder);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_ACTIVE_MACHINE_H_
