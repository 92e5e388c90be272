// The series fleetperf_machine_expected, which alerts compare with
// fleetperf_agent_connected: a machine is missing if no aggregator exports the
// latter.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_EXPECTED_SERIES_H_
#define FLEETPERF_AGGREGATOR_EXPORT_EXPECTED_SERIES_H_

#include <functional>
#include <map>
#include <set>
#include <string>

#include "aggregator/query/resolver.h"
#include "aggregator/samples/directory.h"

namespace fleetperf::aggregator {

// What an aggregator expects.
struct Expectation {
  std::string aggregator;  // its name, which keeps series of several apart
  // Returns the canonical names of the machines. Thread-safe. Empty: none.
  std::function<std::set<std::string>()> machines = nullptr;
};

// Returns the labels, as EncodeLabels returns them, of the series of each
// expected machine that `paths` select (null: of all), by machine. The value of
// each series is 1, whether the machine is connected or not.
std::map<std::string, std::string> ExpectedSeries(
    const Expectation& expectation, const PathSet* paths,
    const Directory& directory);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_EXPECTED_SERIES_H_
