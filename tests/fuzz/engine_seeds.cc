// Writes the seeds of the fuzzer of engines' answers.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/export/raw_names.h"
#include "base/status_macros.h"
#include "perflib/clocks.h"
#include "tests/fuzz/seed_files.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"

namespace fleetperf {
namespace {

using aggregator::Labels;

// Returns a series with values at the first seconds after kStart.
std::string Series(Labels labels, const std::string& metric,
                   const std::vector<std::string>& values) {
  labels["__name__"] = metric;
  std::string metric_json = absl::StrJoin(
      labels, ",", [](std::string* out, const Labels::value_type& label) {
        absl::StrAppend(out, "\"", label.first, "\":\"", label.second, "\"");
      });
  std::vector<std::string> samples;
  for (size_t i = 0; i < values.size(); ++i) {
    samples.push_back(absl::StrCat(
        "[", absl::ToUnixSeconds(testing::kStart) + static_cast<int64_t>(i),
        ",\"", values[i], "\"]"));
  }
  return absl::StrCat("{\"metric\":{", metric_json, "},\"values\":[",
                      absl::StrJoin(samples, ","), "]}");
}

}  // namespace

// Three ticks of two disks, of which one begins in the second tick; the third
// query failed.
absl::Status WriteEngineAnswers(const std::string& root) {
  const perflib::CountersetRegistration disk = testing::DiskRegistration();
  const auto schema = std::make_shared<const aggregator::Schema>(
      aggregator::Schema{.hash = "registration", .registration = disk});
  const aggregator::CollectedQuery query = {
      .schema = schema,
      .interval = absl::Seconds(1),
      .columns = {{.counter_id = testing::kTransfers, .value_size = 8},
                  {.counter_id = testing::kBytesPerRead, .value_size = 8},
                  {.counter_id = testing::kReads,
                   .value_size = 4,
                   .only_linked = true,
                   .wraps = true}}};
  const aggregator::RawMetrics metrics = aggregator::RawMetricsOf(disk);
  const Labels ticks = aggregator::RawLabels("web-1", query);
  const Labels c = aggregator::RawInstanceLabels(ticks, {.name = "C:"});
  const Labels d = aggregator::RawInstanceLabels(
      ticks, {.name = "D:", .instance_id = 3, .occurrence = 1});
  Labels epoch = ticks;
  epoch[aggregator::kColumnsLabel] = aggregator::ColumnsText(query);
  std::vector<std::string> times;
  for (int i = 0; i < 3; ++i) {
    times.push_back(absl::StrCat(static_cast<uint64_t>(aggregator::RawLow(
        static_cast<uint64_t>(testing::ClocksAt(i).perf_time_100nsec)))));
  }
  const std::string series[] = {
      Series(c, metrics.counters[0], {"7", "9"}),
      Series(c, aggregator::HighMetric(metrics.counters[0]), {"1"}),
      Series(d, metrics.counters[2], {"NaN", "1125899906842623"}),
      Series(c, metrics.counters[3], {"1", "2"}),
      Series(c, metrics.presence, {"8", "8"}),
      Series(d, metrics.presence, {"NaN", "11"}),
      Series(ticks, metrics.perf_time, {"10000000", "20000000", "30000000"}),
      Series(ticks, metrics.perf_freq, {"10000000", "10000000", "10000000"}),
      Series(ticks, metrics.perf_time_100ns, times),
      Series(ticks, metrics.status, {"NaN", "NaN", "1460"}),
      Series(epoch, metrics.epoch, {"5", "5", "6"}),
  };
  RETURN_IF_ERROR(
      Write(root, "engine_samples", "disks",
            absl::StrCat("{\"status\":\"success\",\"data\":{\"resultType\":"
                         "\"matrix\",\"result\":[",
                         absl::StrJoin(series, ","), "]}}")));
  return Write(root, "engine_samples", "error",
               "{\"status\":\"error\",\"errorType\":\"x\",\"error\":\"y\","
               "\"warnings\":[1,null,true,-1.5e3,{\"a\":[]}]}");
}

}  // namespace fleetperf
