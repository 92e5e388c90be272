// Raw series: the samples of frames as series of an engine, which lose nothing.
// The export writes them; a reader makes the same frames of them again.
// docs/reference/prometheus-names.md has the rules.

#ifndef FLEETPERF_AGGREGATOR_EXPORT_RAW_NAMES_H_
#define FLEETPERF_AGGREGATOR_EXPORT_RAW_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "aggregator/samples/frame.h"
#include "aggregator/samples/labels.h"
#include "perflib/registration.h"

namespace fleetperf::aggregator {

// The names of a counterset's raw metrics. They follow from the registration
// alone, match [a-z_][a-z0-9_]*, end in _raw, and differ from each other and
// from the names of MetricsOf; so do the names that HighMetric makes of them.
struct RawMetrics {
  std::vector<std::string> counters;  // in the order of the registration
  std::string presence;               // of an instance at a tick: PresenceOf
  // Of ticks.
  std::string perf_time;        // Clocks::perf_time_stamp
  std::string perf_freq;        // Clocks::perf_freq
  std::string perf_time_100ns;  // Clocks::perf_time_100nsec: RawLow alone
  std::string status;           // of a query that failed: Failure::status
  std::string epoch;
};
RawMetrics RawMetricsOf(const perflib::CountersetRegistration& counterset);

// Returns the name of the series with the high bits of values, RawHigh, which
// has samples only where they are not 0. Other series, and values of status,
// presence and epoch, have none.
std::string HighMetric(absl::string_view raw_metric);

// The labels of raw series besides machine and, unless the name is empty,
// instance.
inline constexpr char kIntervalLabel[] = "interval";  // IntervalText
inline constexpr char kSchemaLabel[] = "schema";      // SchemaText
inline constexpr char kQueryLabel[] = "query";        // QueryText
// Of an instance, unless they are 0.
inline constexpr char kInstanceIdLabel[] = "instance_id";
inline constexpr char kOccurrenceLabel[] = "occurrence";
// Of the series of epochs.
inline constexpr char kColumnsLabel[] = "columns";  // ColumnsText

// Seconds as a decimal number: "1", "1.5". absl::ParseDuration reads it with an
// "s" behind it.
std::string IntervalText(absl::Duration interval);
// Identifies a registration among those of a machine: 16 hexadecimal digits.
std::string SchemaText(const Schema& schema);
// Identifies the columns of a query: 8 hexadecimal digits.
std::string QueryText(const CollectedQuery& query);
// All columns of a query in their order: "1:8,2:8l,7:4w" is counter 1 with
// values of 8 bytes, counter 2, which is only linked, and counter 7, which
// wraps. Both is "lw".
std::string ColumnsText(const CollectedQuery& query);
// Engines cut long values of labels. Queries with longer texts have no raw
// series.
inline constexpr size_t kMaxColumnsText = 16'000;

// Returns the labels of the series of a query's ticks, without the metric's
// name and kColumnsLabel.
Labels RawLabels(absl::string_view machine, const CollectedQuery& query);
// Returns the labels of an instance's series, from those of RawLabels.
Labels RawInstanceLabels(Labels query_labels, const Instance& instance);

// A value of 64 bits is the sum of RawLow and 2^50 times RawHigh. Both are
// integers that a double has exactly, with three bits left: VictoriaMetrics may
// change the last bit of a value. Signed values are converted to unsigned ones.
double RawLow(uint64_t value);
double RawHigh(uint64_t value);
// Returns the value; std::nullopt if the numbers are none of RawLow and
// RawHigh. Either may differ from its integer in the last bits, which engines
// change.
std::optional<uint64_t> FromRaw(double low, double high);

// Returns Clocks::perf_time_100nsec from its RawLow and the time of the sample.
// std::nullopt if they do not fit.
std::optional<int64_t> PerfTime100NSecFromRaw(double low, int64_t unix_millis);

// DefinitionOfLife(instance.life) * 2 + instance.is_born. The epoch of the life
// is that of the tick.
uint64_t PresenceOf(const Instance& instance);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_EXPORT_RAW_NAMES_H_
