#include "aggregator/query/raw_query.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/query/expression.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/query/silent_machines.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Collects the samples of a machine's series within a range.
class SampleCollector : public SeriesSink {
 public:
  SampleCollector(const WindowGrid& range, QueryMeter* meter)
      : range_(range), meter_(*meter) {}

  absl::Status Work(size_t steps) override { return meter_.Work(steps); }

  void Begin(const CounterFormula&) override { samples_.emplace_back(); }

  absl::Status Add(size_t series, const SeriesRun& run) override {
    RETURN_IF_ERROR(meter_.Read(run.ticks()));
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      const absl::Time time = perflib::TimeOf(run.clocks(tick));
      if (time <= range_.start || time > range_.end) continue;
      samples_[series].push_back(run.Sample(tick));
      ++held_;
    }
    return meter_.CheckHeld(held_);
  }

  std::vector<RawSample> Take(size_t series) {
    return std::move(samples_[series]);
  }

 private:
  const WindowGrid range_;
  QueryMeter& meter_;
  std::vector<std::vector<RawSample>> samples_;  // by series
  size_t held_ = 0;
};

}  // namespace

absl::Status RunRawQuery(const RangeRequest& request,
                         const QueryContext& context, RawSink sink) {
  const Directory& directory = context.store.directory();
  ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                   ParsePlainPaths(request.paths, directory.CountersetNames()));
  ASSIGN_OR_RETURN(PathSet paths, PathSet::Parse(texts, directory));
  paths.LimitTo(request.machines);
  std::vector<absl::Status> missed;
  ASSIGN_OR_RETURN(const Selected selected,
                   paths.Select(directory, &missed, context.is_cancelled));
  if (!context.report_missing) RETURN_IF_ERROR(ReportMissing(context, missed));
  QueryMeter meter(context);
  PathCheck path_check(paths, missed);
  bool has_samples = false;
  size_t machines_read = 0;
  for (const auto& [machine, countersets] : selected) {
    RETURN_IF_ERROR(meter.CheckCancelled());
    RETURN_IF_ERROR(ReportProgress(context, machines_read, selected.size()));
    ASSIGN_OR_RETURN(const WindowGrid range,
                     GridOf(request, context.limits, context.now_of(machine)));
    SampleCollector collector(range, &meter);
    ASSIGN_OR_RETURN(MachineSeries found,
                     ReadSeries(context.store, machine, countersets,
                                range.start, range.end, &collector));
    path_check.AddInstances(machine, found.instance_names);
    std::stable_sort(found.series.begin(), found.series.end(),
                     [](const FoundSeries& a, const FoundSeries& b) {
                       return a.series.path() < b.series.path();
                     });
    for (FoundSeries& series : found.series) {
      std::vector<RawSample> samples = collector.Take(series.number);
      if (samples.empty()) continue;
      has_samples = true;
      path_check.AddSeries(machine, *series.schema, series.formula.counter_id,
                           series.instance.name,
                           series.series.instance_index());
      RETURN_IF_ERROR(sink({std::move(series.series), std::move(samples)}));
    }
    ++machines_read;
  }
  RETURN_IF_ERROR(ReportProgress(context, machines_read, selected.size()));
  RETURN_IF_ERROR(ReportMissing(context, missed));
  RETURN_IF_ERROR(ReportMissing(
      context, path_check.Missing(directory, context.is_cancelled)));
  if (!has_samples) return absl::OkStatus();
  const auto start_of =
      [&](const std::string& machine) -> absl::StatusOr<absl::Time> {
    ASSIGN_OR_RETURN(const WindowGrid range,
                     GridOf(request, context.limits, context.now_of(machine)));
    return range.start;
  };
  return ReportSilent(context, paths, selected, start_of);
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
