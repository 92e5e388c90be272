#include "aggregator/export/machine_series.h"

#include <utility>

#include "aggregator/export/metric_names.h"
#include "aggregator/export/write_request.h"

namespace fleetperf::aggregator {
namespace {

std::string Encode(const char* metric, const ExportedMachines& machines,
                   Labels labels) {
  labels.insert_or_assign("__name__", metric);
  labels.insert_or_assign("aggregator", ValidUtf8(machines.aggregator));
  return EncodeLabels(labels);
}

}  // namespace

Labels LabelsOfValues(const ExportedMachines& machines,
                      const std::string& machine, const Labels& own) {
  return MachineLabels(machine, own, &machines.copied_labels);
}

std::string InfoSeries(const ExportedMachines& machines,
                       const std::string& machine, const Labels& own) {
  return Encode("fleetperf_machine_info", machines,
                MachineLabels(machine, own));
}

std::string ExpectedSeries(const ExportedMachines& machines,
                           const std::string& machine, const Labels& own) {
  return Encode("fleetperf_machine_expected", machines,
                LabelsOfValues(machines, machine, own));
}

std::set<std::string> SelectExpected(const ExportedMachines& machines,
                                     const PathSet* paths) {
  if (!machines.expected) return {};
  std::set<std::string> expected = machines.expected();
  std::erase_if(expected, [&](const std::string& machine) {
    return paths != nullptr && !paths->MatchesMachine(machine);
  });
  return expected;
}

}  // namespace fleetperf::aggregator
