#include "aggregator/query/raw_query.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/query/expression.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/series.h"
#include "aggregator/query/series_reader.h"
#include "aggregator/query/silent_machines.h"
#include "base/coding.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Collects the samples of a machine's series within a range.
class SampleCollector : public SeriesSink {
 public:
  SampleCollector(const WindowGrid& range, QueryMeter* meter)
      : range_(range),
        start_(perflib::PerfTime100NSecFromTime(range.start)),
        end_(perflib::PerfTime100NSecFromTime(range.end)),
        meter_(*meter) {}

  absl::Status Work(size_t steps) override { return meter_.Work(steps); }

  void BeginFrame(const Frame& frame) override {
    has_ticks_ = has_ticks_ || HasTickIn(frame, range_);
  }

  void Begin(const CounterFormula&) override { samples_.emplace_back(); }

  absl::Status Add(size_t series, const SeriesRun& run) override {
    RETURN_IF_ERROR(meter_.Read(run.ticks()));
    size_t count = 0;
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      count += IsInRange(run, tick) ? 1 : 0;
    }
    held_ += count;
    RETURN_IF_ERROR(meter_.CheckHeld(held_));
    std::vector<RawSample>& samples = samples_[series];
    // Otherwise, the vector grows by itself.
    if (count > samples.size()) samples.reserve(samples.size() + count);
    for (uint32_t tick = 0; tick < run.ticks(); ++tick) {
      if (IsInRange(run, tick)) samples.push_back(run.Sample(tick));
    }
    return absl::OkStatus();
  }

  std::vector<RawSample> Take(size_t series) {
    return std::move(samples_[series]);
  }

  bool has_ticks() const { return has_ticks_; }  // in the range

 private:
  bool IsInRange(const SeriesRun& run, uint32_t tick) const {
    const int64_t time = run.clocks(tick).perf_time_100nsec;
    return time > start_ && time <= end_;
  }

  const WindowGrid range_;
  // Like PerfTime100NSec.
  const int64_t start_;
  const int64_t end_;
  QueryMeter& meter_;
  std::vector<std::vector<RawSample>> samples_;  // by series
  size_t held_ = 0;
  bool has_ticks_ = false;
};

// Encodes the fields of a message that are varints.
class VarintFields {
 public:
  // Like proto3's fields without presence, which are absent if 0.
  void PutUnlessZero(int field, uint64_t number) {
    if (number != 0) Put(field, number);
  }
  void Put(int field, uint64_t number) {
    *end_++ = static_cast<char>(field << 3);
    for (; number >= 0x80; number >>= 7) {
      *end_++ = static_cast<char>(number | 0x80);
    }
    *end_++ = static_cast<char>(number);
  }

  absl::string_view bytes() const {
    return {bytes_.data(), static_cast<size_t>(end_ - bytes_.data())};
  }

 private:
  // At most a byte for the number of the field, and ten for its value.
  std::array<char, 11 * v1::RawSample::kLifeFieldNumber> bytes_;
  char* end_ = bytes_.data();
};

void Encode(const RawSample& sample, VarintFields* fields) {
  const auto put_signed = [&](int field, int64_t number) {
    fields->PutUnlessZero(field, ZigZag(static_cast<uint64_t>(number)));
  };
  const auto put = [&](int field, const RawValue& value) {
    if (value.has_value()) fields->Put(field, value.value);
  };
  using Proto = v1::RawSample;
  put_signed(Proto::kPerfTimeStampFieldNumber, sample.clocks.perf_time_stamp);
  put_signed(Proto::kPerfTime100NsecFieldNumber,
             sample.clocks.perf_time_100nsec);
  put_signed(Proto::kPerfFreqFieldNumber, sample.clocks.perf_freq);
  put(Proto::kValueFieldNumber, sample.value);
  fields->PutUnlessZero(Proto::kValueSizeFieldNumber, sample.value.size);
  put(Proto::kDenominatorFieldNumber, sample.denominator);
  put(Proto::kFrequencyFieldNumber, sample.frequency);
  put(Proto::kMultiFieldNumber, sample.multi);
  fields->PutUnlessZero(Proto::kLifeFieldNumber, sample.life);
}

}  // namespace

absl::Status RunRawQuery(const RangeRequest& request,
                         const QueryContext& context, RawSink sink) {
  const Directory& directory = context.store.directory();
  ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                   ParsePlainPaths(request.paths, directory.CountersetNames(),
                                   CountersOf(directory)));
  ASSIGN_OR_RETURN(PathSet paths, PathSet::Parse(texts, directory));
  paths.LimitTo(request.machines);
  std::vector<absl::Status> missed;
  ASSIGN_OR_RETURN(const Selected selected,
                   paths.Select(directory, &missed, context.is_cancelled));
  if (!context.report_missing) RETURN_IF_ERROR(ReportMissing(context, missed));
  QueryMeter meter(context);
  PathCheck path_check(paths, missed);
  bool has_samples = false;
  std::set<std::string> with_ticks;
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
    if (collector.has_ticks()) with_ticks.insert(machine);
    std::multimap<std::string, FoundSeries> by_key;
    for (FoundSeries& series : found.series) {
      std::string key = OrderKey(series.series);
      by_key.emplace_hint(by_key.end(), std::move(key), std::move(series));
    }
    for (auto& [key, series] : by_key) {
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
      context,
      path_check.Missing(
          directory, context.is_cancelled,
          [&](const std::string& machine, const SelectedCounterset& counterset)
              -> std::optional<absl::Time> {
            const auto range =
                GridOf(request, context.limits, context.now_of(machine));
            if (!range.ok()) return std::nullopt;
            return TickAfter(context, machine, counterset, range->end);
          })));
  if (!has_samples) return absl::OkStatus();
  return ReportSilent(
      context, paths, selected, with_ticks, [&](const std::string& machine) {
        return GridOf(request, context.limits, context.now_of(machine));
      });
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

std::string EncodeSamples(uint32_t series,
                          absl::Span<const RawSample> samples) {
  constexpr size_t kTypicalSize = 48;
  constexpr char kTagOfSample = v1::RawSamples::kSamplesFieldNumber << 3 | 2;
  std::string encoded;
  encoded.reserve(16 + samples.size() * kTypicalSize);
  VarintFields head;
  head.PutUnlessZero(v1::RawSamples::kSeriesFieldNumber, series);
  absl::StrAppend(&encoded, head.bytes());
  for (const RawSample& sample : samples) {
    VarintFields fields;
    Encode(sample, &fields);
    encoded.push_back(kTagOfSample);
    PutBytes(fields.bytes(), &encoded);
  }
  return encoded;
}

}  // namespace fleetperf::aggregator
