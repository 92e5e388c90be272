#include "aggregator/query/raw_query.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

class SampleCollector : public SeriesSink {
 public:
  // `held` counts what all sinks of a machine hold.
  SampleCollector(const WindowGrid& range, QueryMeter* meter, size_t* held)
      : range_(range), meter_(*meter), held_(*held) {}

  absl::Status Add(const SeriesRun& run) override {
    RETURN_IF_ERROR(meter_.Read(run.ticks()));
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      const RawSample sample = run.Sample(tick);
      const absl::Time time =
          perflib::TimeFromPerfTime100NSec(sample.clocks.perf_time_100nsec);
      if (time <= range_.start || time > range_.end) continue;
      samples.push_back(sample);
      ++held_;
    }
    return meter_.CheckHeld(held_);
  }

  std::vector<RawSample> samples;

 private:
  const WindowGrid range_;
  QueryMeter& meter_;
  size_t& held_;
};

}  // namespace

absl::Status RunRawQuery(const RangeRequest& request,
                         const QueryContext& context, RawSink sink) {
  const Directory& directory = context.store.directory();
  ASSIGN_OR_RETURN(const PathSet paths,
                   PathSet::Parse(request.paths, directory));
  ASSIGN_OR_RETURN(const Selected selected, paths.Select(directory));
  QueryMeter meter(context);
  InstanceCheck instance_check(paths);
  for (const auto& [machine, countersets] : selected) {
    RETURN_IF_ERROR(meter.CheckCancelled());
    ASSIGN_OR_RETURN(const WindowGrid range,
                     GridOf(request, context.limits, context.now_of(machine)));
    size_t held = 0;
    ASSIGN_OR_RETURN(
        MachineSeries found,
        ReadSeries(context.store, machine, countersets, range.start, range.end,
                   [&](const CounterFormula&) {
                     return std::make_unique<SampleCollector>(range, &meter,
                                                              &held);
                   }));
    instance_check.Add(found.instance_names);
    std::stable_sort(found.series.begin(), found.series.end(),
                     [](const FoundSeries& a, const FoundSeries& b) {
                       return a.series.path() < b.series.path();
                     });
    for (FoundSeries& series : found.series) {
      auto& samples = static_cast<SampleCollector&>(*series.sink).samples;
      if (samples.empty()) continue;
      RETURN_IF_ERROR(sink({std::move(series.series), std::move(samples)}));
    }
  }
  return instance_check.Finish();
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
