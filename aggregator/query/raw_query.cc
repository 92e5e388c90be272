#include "aggregator/query/raw_query.h"

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Of all series of an answer, which is in memory as a whole.
constexpr size_t kMaxSamples = 5'000'000;

class RawSink : public SeriesSink {
 public:
  RawSink(const WindowGrid& range, size_t* total)
      : range_(range), total_(*total) {}

  absl::Status Add(const SeriesRun& run) override {
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      const RawSample sample = run.Sample(tick);
      const absl::Time time =
          perflib::TimeFromPerfTime100NSec(sample.clocks.perf_time_100nsec);
      if (time <= range_.start || time > range_.end) continue;
      samples.push_back(sample);
      if (++total_ > kMaxSamples) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the answer has more than ", kMaxSamples,
                         " samples; choose a shorter time or fewer series"));
      }
    }
    return absl::OkStatus();
  }

  std::vector<RawSample> samples;

 private:
  const WindowGrid range_;
  size_t& total_;
};

}  // namespace

absl::StatusOr<std::vector<RawSeries>> RunRawQuery(const RangeRequest& request,
                                                   Store& store,
                                                   const MachineNow& now_of) {
  ASSIGN_OR_RETURN(const PathSet paths,
                   PathSet::Parse(request.paths, store.directory()));
  ASSIGN_OR_RETURN(const Selected selected, paths.Select(store.directory()));
  std::vector<RawSeries> results;
  std::set<std::string> instance_names;
  size_t total = 0;
  for (const auto& [machine, countersets] : selected) {
    ASSIGN_OR_RETURN(const WindowGrid range, GridOf(request, now_of(machine)));
    ASSIGN_OR_RETURN(MachineSeries machine_series,
                     ReadSeries(store, machine, countersets, range.start,
                                range.end, [&](const CounterFormula&) {
                                  return std::make_unique<RawSink>(range,
                                                                   &total);
                                }));
    instance_names.merge(machine_series.instance_names);
    for (FoundSeries& found : machine_series.series) {
      RawSink& sink = static_cast<RawSink&>(*found.sink);
      if (sink.samples.empty()) continue;
      results.push_back({std::move(found.series), std::move(sink.samples)});
    }
  }
  if (!instance_names.empty()) {
    RETURN_IF_ERROR(paths.CheckInstances(instance_names));
  }
  std::sort(results.begin(), results.end(), [](const auto& a, const auto& b) {
    return std::forward_as_tuple(a.series.machine(), a.series.path()) <
           std::forward_as_tuple(b.series.machine(), b.series.path());
  });
  return results;
}

v1::RawSample ToProto(const RawSample& sample) {
  v1::RawSample proto;
  proto.set_perf_time_stamp(sample.clocks.perf_time_stamp);
  proto.set_perf_time_100nsec(sample.clocks.perf_time_100nsec);
  proto.set_perf_freq(sample.clocks.perf_freq);
  if (sample.value.has_value()) proto.set_value(sample.value.value);
  proto.set_value_size(sample.value.size);
  if (sample.denominator.has_value()) {
    proto.set_denominator(sample.denominator.value);
  }
  if (sample.frequency.has_value()) {
    proto.set_frequency(sample.frequency.value);
  }
  if (sample.multi.has_value()) proto.set_multi(sample.multi.value);
  proto.set_life(sample.life);
  return proto;
}

}  // namespace fleetperf::aggregator
