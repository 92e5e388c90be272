#include "aggregator/export/raw_names.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator/export/metric_names.h"
#include "base/sha256.h"
#include "values/life.h"

namespace fleetperf::aggregator {
namespace {

constexpr int kLowBits = 50;  // of the 53 of a double
constexpr uint64_t kLowRange = uint64_t{1} << kLowBits;

// Gives metrics names that no other metric of the counterset has.
class Namer {
 public:
  explicit Namer(const perflib::CountersetRegistration& counterset)
      : prefix_(absl::StrCat(MetricPrefix(counterset), "_")) {
    for (const Metric& metric : MetricsOf(counterset)) {
      used_.insert(metric.name);
    }
  }

  // Appends `suffix` to words that are taken.
  std::string Name(absl::string_view words, absl::string_view suffix) {
    std::string stem = absl::StrCat(prefix_, words);
    while (IsTaken(absl::StrCat(stem, "_raw"))) absl::StrAppend(&stem, suffix);
    return *used_.insert(absl::StrCat(stem, "_raw")).first;
  }

 private:
  bool IsTaken(const std::string& name) const {
    return used_.contains(name) || used_.contains(HighMetric(name));
  }

  const std::string prefix_;
  std::set<std::string> used_;
};

// Returns the integer, less than `range`, that an engine returns as `number`.
std::optional<uint64_t> IntegerFrom(double number, uint64_t range) {
  // Two to four times the last bit of a double.
  constexpr double kTolerance = 0x1p-51;
  const double integer = std::round(number);
  // False for NaN.
  if (!(integer >= 0 && integer < static_cast<double>(range)) ||
      std::abs(number - integer) > integer * kTolerance) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(integer);
}

}  // namespace

RawMetrics RawMetricsOf(const perflib::CountersetRegistration& counterset) {
  Namer namer(counterset);
  RawMetrics metrics;
  metrics.presence = namer.Name("presence", "_2");
  metrics.perf_time = namer.Name("tick_perf_time", "_2");
  metrics.perf_freq = namer.Name("tick_perf_freq", "_2");
  metrics.perf_time_100ns = namer.Name("tick_perf_time_100ns", "_2");
  metrics.status = namer.Name("tick_status", "_2");
  metrics.epoch = namer.Name("tick_epoch", "_2");
  // The counter with the lowest id keeps a name that several have.
  const auto& counters = counterset.counters;
  std::vector<size_t> order(counters.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return counters[a].counter_id < counters[b].counter_id;
  });
  metrics.counters.resize(counters.size());
  for (const size_t i : order) {
    metrics.counters[i] =
        namer.Name(WordsWithoutUnit(counters[i]),
                   absl::StrCat("_id", counters[i].counter_id));
  }
  return metrics;
}

std::string HighMetric(absl::string_view raw_metric) {
  return absl::StrCat(raw_metric, "_high");
}

std::string IntervalText(absl::Duration interval) {
  absl::Duration rest;
  const int64_t seconds = absl::IDivDuration(interval, absl::Seconds(1), &rest);
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(rest);
  if (nanoseconds == 0) return absl::StrCat(seconds);
  std::string text = absl::StrFormat("%d.%09d", seconds, nanoseconds);
  text.resize(text.find_last_not_of('0') + 1);
  return text;
}

std::string SchemaText(const Schema& schema) {
  return absl::BytesToHexString(absl::string_view(schema.hash).substr(0, 8));
}

std::string QueryText(const CollectedQuery& query) {
  return absl::StrFormat(
      "%08x", static_cast<uint32_t>(Fingerprint(ColumnsText(query))));
}

std::string ColumnsText(const CollectedQuery& query) {
  std::string text;
  for (const CollectedQuery::Column& column : query.columns) {
    absl::StrAppend(&text, text.empty() ? "" : ",", column.counter_id, ":",
                    column.value_size, column.only_linked ? "l" : "",
                    column.wraps ? "w" : "");
  }
  return text;
}

Labels RawLabels(absl::string_view machine, const CollectedQuery& query) {
  Labels labels = MachineLabels(machine, {});
  labels.emplace(kIntervalLabel, IntervalText(query.interval));
  labels.emplace(kSchemaLabel, SchemaText(*query.schema));
  labels.emplace(kQueryLabel, QueryText(query));
  return labels;
}

Labels RawInstanceLabels(Labels query_labels, const Instance& instance) {
  Labels labels = std::move(query_labels);
  if (!instance.name.empty()) {
    labels.emplace("instance", ValidUtf8(instance.name));
  }
  if (instance.instance_id != 0) {
    labels.emplace(kInstanceIdLabel, absl::StrCat(instance.instance_id));
  }
  if (instance.occurrence != 0) {
    labels.emplace(kOccurrenceLabel, absl::StrCat(instance.occurrence));
  }
  return labels;
}

double RawLow(uint64_t value) { return static_cast<double>(value % kLowRange); }

double RawHigh(uint64_t value) {
  return static_cast<double>(value >> kLowBits);
}

std::optional<uint64_t> FromRaw(double low, double high) {
  const auto low_bits = IntegerFrom(low, kLowRange);
  const auto high_bits = IntegerFrom(high, uint64_t{1} << (64 - kLowBits));
  if (!low_bits.has_value() || !high_bits.has_value()) return std::nullopt;
  return (*high_bits << kLowBits) + *low_bits;
}

std::optional<int64_t> PerfTime100NSecFromRaw(double low, int64_t unix_millis) {
  const auto low_bits = IntegerFrom(low, kLowRange);
  if (!low_bits.has_value()) return std::nullopt;
  // The first time of the millisecond, modulo 2^64.
  constexpr uint64_t kUnixEpoch = 116'444'736'000'000'000;
  constexpr uint64_t kPerMilli = 10'000;
  const uint64_t first =
      static_cast<uint64_t>(unix_millis) * kPerMilli + kUnixEpoch;
  const uint64_t after = (*low_bits - first) % kLowRange;
  if (after >= kPerMilli) return std::nullopt;
  return static_cast<int64_t>(first + after);
}

uint64_t PresenceOf(const Instance& instance) {
  return uint64_t{DefinitionOfLife(instance.life)} * 2 +
         (instance.is_born ? 1 : 0);
}

}  // namespace fleetperf::aggregator
