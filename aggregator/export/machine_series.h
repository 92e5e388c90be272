// The series that tell of machines. Their value is always 1:
//
//   fleetperf_machine_info      of each machine that sends samples: has the
//                               machine's labels, which rules and panels join
//                               on machine
//   fleetperf_machine_expected  of each machine that the configuration expects,
//                               connected or not: a machine is missing if no
//                               aggregator exports fleetperf_agent_connected
//
// They have the aggregator's name, because several may know a machine.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_MACHINE_SERIES_H_
#define FLEETPERF_AGGREGATOR_EXPORT_MACHINE_SERIES_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "aggregator/query/resolver.h"
#include "aggregator/samples/labels.h"

namespace fleetperf::aggregator {

// What the configuration says of machines.
struct ExportedMachines {
  std::string aggregator;  // its name
  // The labels of machines that all their series have.
  std::vector<std::string> copied_labels = {};
  // Returns the canonical names of the expected machines. Thread-safe. Empty:
  // none.
  std::function<std::set<std::string>()> expected = nullptr;
};

// Returns the labels that all series of values of a machine have. `own` are its
// labels.
Labels LabelsOfValues(const ExportedMachines& machines,
                      const std::string& machine, const Labels& own);

// Return the labels of the series of a machine, as EncodeLabels returns them.
std::string InfoSeries(const ExportedMachines& machines,
                       const std::string& machine, const Labels& own);
std::string ExpectedSeries(const ExportedMachines& machines,
                           const std::string& machine, const Labels& own);

// Returns the expected machines that `paths` select; null: all.
std::set<std::string> SelectExpected(const ExportedMachines& machines,
                                     const PathSet* paths);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_MACHINE_SERIES_H_
