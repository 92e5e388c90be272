#include "aggregator/query/series_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "aggregator/formula/window.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/sample_feed.h"
#include "aggregator/query/series.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxSeries = QueryLimits().series;

// The selection in one counterset, and its series.
class CountersetReader : public SampleSink {
 public:
  // `next_number` is the sink's number of the next new series.
  CountersetReader(const SelectedCounterset& selected, absl::Time to,
                   SeriesSink* sink, size_t* next_number)
      : selected_(selected),
        to_(perflib::PerfTime100NSecFromTime(to)),
        sink_(*sink),
        next_number_(*next_number),
        feed_(selected, this) {}

  const std::shared_ptr<const Schema>& schema() const {
    return selected_.schema;
  }
  std::set<std::string> InstanceNames() const { return feed_.InstanceNames(); }
  std::vector<bool> WantedColumns(const CollectedQuery& query) {
    return feed_.WantedColumns(query);
  }
  bool Wants(const Instance& instance) { return feed_.Wants(instance); }

  absl::Status Add(const Frame& frame) {
    if (frame.clocks->empty()) return status_;
    sink_.BeginFrame(frame);
    feed_.Add(frame);
    if (const auto last = LastSoundTick(frame)) {
      interval_ = std::max(interval_, frame.query->is_thinned()
                                          ? frame.query->thinned_from
                                          : frame.query->interval);
      last_tick_ = *last;
    }
    if (series_.size() > kMaxSeries) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the query has more than ", kMaxSeries,
          " series on one machine; select fewer instances or counters"));
    }
    return status_;
  }

  size_t AddSeries(const Instance& instance, const CounterFormula& formula,
                   std::vector<uint32_t> wanted_indexes) override {
    sink_.Begin(formula);
    series_.push_back(
        {instance, formula, std::move(wanted_indexes), next_number_++});
    return series_.size() - 1;
  }

  void AddRun(size_t number, const SeriesRun& run) override {
    if (status_.ok()) status_ = sink_.Add(series_[number].number, run);
  }

  void Finish(const std::string& machine, std::vector<FoundSeries>* found) {
    const auto indexes = IndexInstances();
    for (const Series& one : series_) {
      const Instance& instance = one.instance;
      const uint32_t index = indexes.at(
          {instance.name, instance.instance_id, instance.occurrence});
      const auto& wanted = one.wanted_indexes;
      if (!wanted.empty() &&
          std::count(wanted.begin(), wanted.end(), index) == 0) {
        continue;
      }
      const perflib::CounterRegistration& counter =
          *schema()->registration.FindCounter(one.formula.counter_id);
      found->push_back({.series = DescribeSeries(machine, *schema(), counter,
                                                 instance, index),
                        .formula = one.formula,
                        .aggregate_function = counter.aggregate_function,
                        .instance = instance,
                        .schema = schema(),
                        .is_unnamed_aggregate = IsAggregate(instance.name) &&
                                                !selected_.Names(instance.name),
                        .last_tick = last_tick_,
                        .interval = interval_,
                        .number = one.number});
    }
  }

 private:
  struct Series {
    Instance instance;
    CounterFormula formula;
    std::vector<uint32_t> wanted_indexes;
    size_t number;  // in the sink
  };
  using InstanceKey = std::tuple<std::string, uint32_t, uint32_t>;

  // The frame's last tick in the range that has a complete list of instances.
  std::optional<absl::Time> LastSoundTick(const Frame& frame) const {
    for (size_t tick = frame.clocks->size(); tick-- > 0;) {
      const int64_t time = (*frame.clocks)[tick].perf_time_100nsec;
      if (time <= to_ && !frame.HasFailed(static_cast<uint32_t>(tick))) {
        return perflib::TimeFromPerfTime100NSec(time);
      }
    }
    return std::nullopt;
  }

  // The index of each instance among those with its name, by instance id. Names
  // are compared like in paths.
  std::map<InstanceKey, uint32_t> IndexInstances() const {
    std::set<std::tuple<std::string, uint32_t, uint32_t, std::string>>
        instances;
    for (const Series& one : series_) {
      instances.emplace(absl::AsciiStrToLower(one.instance.name),
                        one.instance.instance_id, one.instance.occurrence,
                        one.instance.name);
    }
    std::map<InstanceKey, uint32_t> indexes;
    std::string last;
    uint32_t next = 0;
    for (const auto& [lower, id, occurrence, name] : instances) {
      next = lower == last ? next + 1 : 0;
      last = lower;
      indexes[{name, id, occurrence}] = next;
    }
    return indexes;
  }

  const SelectedCounterset selected_;
  const int64_t to_;  // in units of 100 ns, like PerfTime100NSec
  SeriesSink& sink_;
  size_t& next_number_;
  SampleFeed feed_;
  std::vector<Series> series_;
  absl::Status status_;
  absl::Time last_tick_ = absl::InfinitePast();
  absl::Duration interval_;
};

}  // namespace

absl::Duration LongestInterval(
    const Directory& directory, const std::string& machine,
    const std::vector<SelectedCounterset>& selected) {
  absl::Duration longest;
  for (const auto& collected : directory.Countersets(machine)) {
    for (const SelectedCounterset& counterset : selected) {
      if (counterset.schema != collected->schema) continue;
      for (const Selection& selection : counterset.selections) {
        for (const uint32_t id : selection.counter_ids) {
          const auto found = collected->counters.find(id);
          if (found == collected->counters.end()) continue;
          longest = std::max(longest, found->second);
        }
      }
    }
  }
  return longest;
}

absl::StatusOr<MachineSeries> ReadSeries(
    Store& store, const std::string& machine,
    const std::vector<SelectedCounterset>& selected, absl::Time from,
    absl::Time to, SeriesSink* sink) {
  size_t next_number = 0;
  std::vector<std::unique_ptr<CountersetReader>> readers;
  for (const SelectedCounterset& counterset : selected) {
    readers.push_back(
        std::make_unique<CountersetReader>(counterset, to, sink, &next_number));
  }
  const auto reader_of = [&](const std::shared_ptr<const Schema>& schema) {
    const auto found = std::find_if(
        readers.begin(), readers.end(),
        [&](const auto& reader) { return reader->schema() == schema; });
    return found != readers.end() ? found->get() : nullptr;
  };
  MachineSeries machine_series;
  const absl::Duration longest =
      LongestInterval(store.directory(), machine, selected);
  RETURN_IF_ERROR(store.Read(
      {.machine = machine,
       .from = from - longest * kMaxIntervalsApart,
       .to = to,
       .filter =
           [&](const CollectedQuery& query) {
             return reader_of(query.schema) != nullptr;
           },
       .columns =
           [&](const CollectedQuery& query) {
             return reader_of(query.schema)->WantedColumns(query);
           },
       .instances =
           [&](const CollectedQuery& query, const Instance& instance) {
             return reader_of(query.schema)->Wants(instance);
           }},
      [&](const Frame& frame) {
        return reader_of(frame.query->schema)->Add(frame);
      },
      [&](const Loss& loss) { machine_series.losses.push_back(loss); }));
  for (const auto& reader : readers) {
    reader->Finish(machine, &machine_series.series);
    machine_series.instance_names[reader->schema()->registration.name].merge(
        reader->InstanceNames());
  }
  return machine_series;
}

}  // namespace fleetperf::aggregator
