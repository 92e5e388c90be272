// Names and labels of series for Prometheus and systems with its data model.
// docs/reference/prometheus-names.md gives the rules, with examples.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_METRIC_NAMES_H_
#define FLEETPERF_AGGREGATOR_EXPORT_METRIC_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "aggregator/samples/labels.h"
#include "perflib/registration.h"

namespace fleetperf::aggregator {

struct Metric {
  // "fleetperf_memory_available_bytes"; empty for counters that never have a
  // value, such as bases.
  std::string name;
  // Converts a value in the counter's unit (UnitOf) to that of the name.
  double factor = 1;
};

// Returns the metric of each counter of a counterset, in the order of the
// registration. Names follow from the registration alone, match
// [a-z_][a-z0-9_]* whatever the counterset's text, and differ within it.
std::vector<Metric> MetricsOf(
    const perflib::CountersetRegistration& counterset);

// Returns the start of the names of a counterset's metrics: "fleetperf_memory".
std::string MetricPrefix(const perflib::CountersetRegistration& counterset);

// Returns the words of a counter's name for a metric of its raw values, which
// are in another unit: "% Processor Time" is processor_time, and "Reads/sec" is
// reads.
std::string WordsWithoutUnit(const perflib::CounterRegistration& counter);

// Returns the text with U+FFFD for each byte that is not UTF-8, which engines
// refuse.
std::string ValidUtf8(absl::string_view text);

// Returns the label of a machine's name, and its own labels under names that
// are valid and not reserved. `copied`, if not null, are the names of the own
// labels that are wanted. All texts are UTF-8.
Labels MachineLabels(absl::string_view machine, const Labels& own,
                     const std::vector<std::string>* copied = nullptr);

// Returns all labels of a series, the metric's name among them.
// `machine_labels` comes from MachineLabels. `instance` is std::nullopt in a
// counterset without instances; `index` is the number of the instance among
// those with its name, as in paths.
Labels SeriesLabels(const Labels& machine_labels, const Metric& metric,
                    std::optional<absl::string_view> instance, uint32_t index);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_METRIC_NAMES_H_
