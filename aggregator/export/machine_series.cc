#include "aggregator/export/expected_series.h"

#include "aggregator/export/metric_names.h"
#include "aggregator/export/write_request.h"
#include "aggregator/samples/labels.h"

namespace fleetperf::aggregator {

std::map<std::string, std::string> ExpectedSeries(
    const Expectation& expectation, const PathSet* paths,
    const Directory& directory) {
  std::map<std::string, std::string> series;
  if (!expectation.machines) return series;
  for (const std::string& machine : expectation.machines()) {
    if (paths != nullptr && !paths->MatchesMachine(machine)) continue;
    Labels labels = MachineLabels(machine, directory.LabelsOf(machine));
    labels.insert_or_assign("__name__", "fleetperf_machine_expected");
    labels.insert_or_assign("aggregator", ValidUtf8(expectation.aggregator));
    series.emplace(machine, EncodeLabels(labels));
  }
  return series;
}

}  // namespace fleetperf::aggregator
