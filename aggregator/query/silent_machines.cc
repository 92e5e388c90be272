#include "aggregator/query/silent_machines.h"

#include <optional>

#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::Status ReportSilent(
    const QueryContext& context, const PathSet& paths, const Selected& selected,
    absl::FunctionRef<absl::StatusOr<absl::Time>(const std::string&)>
        start_of) {
  if (!context.report_silent) return absl::OkStatus();
  for (const auto& [machine, countersets] : selected) {
    const std::optional<absl::Time> newest =
        context.store.directory().NewestSample(machine);
    if (!newest.has_value() || paths.NamesMachine(machine)) continue;
    ASSIGN_OR_RETURN(const absl::Time start, start_of(machine));
    if (*newest > start || *newest < start - kMissedFor) continue;
    RETURN_IF_ERROR(context.report_silent(machine, *newest));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
