// Fuzzes the names and labels of exported series. Each line of the input is a
// name. Metrics, also the raw ones, and labels have valid names that differ,
// and valid UTF-8.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "aggregator/export/metric_names.h"
#include "aggregator/export/raw_names.h"
#include "base/text/utf8.h"
#include "perflib/counter_type.h"
#include "tests/fuzz/check.h"

namespace fleetperf::aggregator {
namespace {

bool IsName(absl::string_view name) {
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0])))
    return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_')
      return false;
  }
  return true;
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    uint32_t character = 0;
    const size_t size = DecodeCharacter(text, &character);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

void CheckMetrics(const std::vector<std::string>& names) {
  constexpr uint32_t kTypes[] = {
      perflib::kPerfCounterLargeRawcount, perflib::kPerfCounterBulkCount,
      perflib::kPerfAverageTimer, perflib::kPerf100NsecTimer};
  perflib::CountersetRegistration counterset;
  counterset.name = names[0];
  for (size_t i = 1; i < names.size(); ++i) {
    counterset.counters.push_back({.counter_id = static_cast<uint32_t>(i / 2),
                                   .type = kTypes[names[i].size() % 4],
                                   .name = names[i]});
  }
  const std::vector<Metric> metrics = MetricsOf(counterset);
  FUZZ_CHECK(metrics.size() == counterset.counters.size());
  std::set<std::string> unique;
  for (const Metric& metric : metrics) {
    FUZZ_CHECK(IsName(metric.name) && metric.factor > 0);
    FUZZ_CHECK(unique.insert(metric.name).second);
  }
  const RawMetrics raw = RawMetricsOf(counterset);
  FUZZ_CHECK(raw.counters.size() == counterset.counters.size());
  const auto check_raw = [&](const std::string& name) {
    FUZZ_CHECK(IsName(name));
    FUZZ_CHECK(unique.insert(name).second);
    FUZZ_CHECK(unique.insert(HighMetric(name)).second);
  };
  for (const std::string& name : raw.counters) check_raw(name);
  for (const std::string* name :
       {&raw.presence, &raw.perf_time, &raw.perf_freq, &raw.perf_time_100ns,
        &raw.status, &raw.epoch}) {
    check_raw(*name);
  }
}

void CheckSeriesLabels(const std::vector<std::string>& names) {
  Labels own;
  for (const std::string& name : names) own[name] = names[0] + name;
  const Labels machine = MachineLabels(names[0], own);
  const Labels all = SeriesLabels(machine, {.name = "m"}, names.back(), 1);
  FUZZ_CHECK(all.size() == machine.size() + 3);
  for (const auto& [name, value] : all) {
    FUZZ_CHECK(IsName(name) && IsUtf8(value));
  }
}

}  // namespace
}  // namespace fleetperf::aggregator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> names = absl::StrSplit(text, '\n');
  fleetperf::aggregator::CheckMetrics(names);
  fleetperf::aggregator::CheckSeriesLabels(names);
  return 0;
}
