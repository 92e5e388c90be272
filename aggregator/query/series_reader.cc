#include "aggregator/query/series_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "aggregator/query/query_context.h"
#include "aggregator/query/sample_feed.h"
#include "aggregator/query/series.h"
#include "base/status_macros.h"
#include "perflib/aggregates.h"
#include "values/clock_check.h"
#include "values/window.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kMaxSeries = QueryLimits().series;

// The work on a chunk's head, on a frame and on a run in it, even if no series
// has a sample there, and on the name of a series; see QueryMeter::Work.
constexpr size_t kStepsOfChunk = 1000;
constexpr size_t kStepsOfFrame = 1000;
constexpr size_t kStepsOfRun = 5;
constexpr size_t kStepsOfName = 200;

// The selection in one counterset, and its series.
class CountersetReader : public SampleSink {
 public:
  // `selected` must outlive the reader. `next_number` is the sink's number of
  // the next new series.
  CountersetReader(const SelectedCounterset& selected, absl::Time from,
                   absl::Time to, SeriesSink* sink, size_t* next_number)
      : selected_(selected),
        from_(perflib::PerfTime100NSecFromTime(from)),
        to_(perflib::PerfTime100NSecFromTime(to)),
        sink_(*sink),
        needs_names_(sink->NeedsInstanceNames()),
        next_number_(*next_number),
        feed_(selected, this) {}

  const std::shared_ptr<const Schema>& schema() const {
    return selected_.schema;
  }
  // Returns the names of all instances, if the sink needs them, and whether
  // they are aggregates.
  std::map<std::string, bool> InstanceNames() const {
    std::map<std::string, bool> names;
    for (const std::string& name : names_) {
      names[name] = perflib::IsAggregate(schema()->registration, name);
    }
    return names;
  }
  std::vector<bool> WantedColumns(const CollectedQuery& query) {
    return feed_.WantedColumns(query);
  }
  bool Wants(const Instance& instance) {
    if (needs_names_) names_.insert(instance.name);
    return feed_.Wants(instance);
  }
  bool TakesFolded(const CollectedQuery& query, int64_t second, int64_t last) {
    const std::vector<CounterFormula> formulas = feed_.Formulas(query);
    return std::all_of(
        formulas.begin(), formulas.end(), [&](const CounterFormula& formula) {
          // Gauges may decrease in a folded frame; denominators must not.
          return !IsGauge(formula.denominator_id) &&
                 sink_.TakesFolded(formula, query.interval, second, last);
        });
  }

  absl::Status Add(const Frame& frame) {
    if (frame.clocks->empty()) return status_;
    RETURN_IF_ERROR(
        sink_.Work(kStepsOfFrame + kStepsOfRun * frame.runs.size()));
    sink_.BeginFrame(frame);
    FindTicks(frame);
    for (const Frame::Run& run : frame.runs) {
      if (needs_names_) names_.insert(run.instance->name);
    }
    feed_.Add(frame);
    if (const auto last = LastSoundTick(frame)) {
      last_tick_ = *last;
      if (*last > perflib::TimeFromPerfTime100NSec(from_)) {
        interval_ = std::max(interval_, frame.query->is_thinned()
                                            ? frame.query->thinned_from
                                            : frame.query->interval);
      }
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
    Series& series = series_[number];
    series.is_in_range = series.is_in_range || IsInRange(run);
    if (status_.ok()) status_ = sink_.Add(series.number, run);
  }

  bool NeedsExtremes(const CounterFormula& formula) override {
    return sink_.NeedsExtremes(formula);
  }

  absl::Status Finish(const std::string& machine,
                      std::vector<FoundSeries>* found) {
    ASSIGN_OR_RETURN(const auto indexes, IndexInstances());
    for (const Series& one : series_) {
      if (!one.is_in_range) continue;
      RETURN_IF_ERROR(sink_.Work(kStepsOfName));
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
      found->push_back(
          {.series =
               DescribeSeries(machine, *schema(), counter, instance, index),
           .formula = one.formula,
           .aggregate_function = counter.aggregate_function,
           .instance = instance,
           .schema = schema(),
           .is_unnamed_aggregate = IsUnnamedAggregate(
               selected_, one.formula.counter_id, instance.name, index),
           .last_tick = last_tick_,
           .interval = interval_,
           .number = one.number});
    }
    return absl::OkStatus();
  }

 private:
  struct Series {
    Instance instance;
    CounterFormula formula;
    std::vector<uint32_t> wanted_indexes;
    size_t number;  // in the sink
    bool is_in_range = false;
  };
  using InstanceKey = std::tuple<std::string, uint32_t, uint32_t>;

  bool IsGauge(std::optional<uint32_t> counter_id) const {
    if (!counter_id.has_value()) return false;
    const perflib::CountersetRegistration& registration =
        schema()->registration;
    const auto* counter = registration.FindCounter(*counter_id);
    return counter != nullptr &&
           FormulaOf(registration, *counter).formula == perflib::Formula::kRaw;
  }

  // Finds the frame's ticks in the range. Frames may have others, too,
  // depending on how samples are stored.
  void FindTicks(const Frame& frame) {
    const auto is_inside = [&](const perflib::Clocks& tick) {
      return tick.perf_time_100nsec > from_ && tick.perf_time_100nsec <= to_;
    };
    const auto& clocks = *frame.clocks;
    const auto first = std::find_if(clocks.begin(), clocks.end(), is_inside);
    const auto last = std::find_if(clocks.rbegin(), clocks.rend(), is_inside);
    first_tick_ = static_cast<size_t>(first - clocks.begin());
    end_tick_ = static_cast<size_t>(clocks.rend() - last);
  }

  bool IsInRange(const SeriesRun& run) const {
    return run.first_tick() < end_tick_ &&
           run.first_tick() + run.ticks() > first_tick_;
  }

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

  // The index of each instance among those with its name that have a sample in
  // the range, by instance id. Names are compared like in paths.
  absl::StatusOr<std::map<InstanceKey, uint32_t>> IndexInstances() const {
    std::set<std::tuple<std::string, uint32_t, uint32_t, std::string>>
        instances;
    for (const Series& one : series_) {
      if (!one.is_in_range) continue;
      RETURN_IF_ERROR(sink_.Work(kStepsOfName));
      instances.emplace(absl::AsciiStrToLower(one.instance.name),
                        one.instance.instance_id, one.instance.occurrence,
                        one.instance.name);
    }
    std::map<InstanceKey, uint32_t> indexes;
    std::optional<std::string> last;  // a name may be empty
    uint32_t next = 0;
    for (const auto& [lower, id, occurrence, name] : instances) {
      next = lower == last ? next + 1 : 0;
      last = lower;
      indexes[{name, id, occurrence}] = next;
    }
    return indexes;
  }

  const SelectedCounterset& selected_;
  const int64_t from_;  // in units of 100 ns, like PerfTime100NSec
  const int64_t to_;
  SeriesSink& sink_;
  const bool needs_names_;
  size_t& next_number_;
  absl::flat_hash_set<std::string> names_;  // of instances, if needed
  SampleFeed feed_;
  std::vector<Series> series_;
  // The ticks in the range, of the frame being added: from the first one to
  // before the end.
  size_t first_tick_ = 0;
  size_t end_tick_ = 0;
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
    ReadableStore& store, const std::string& machine,
    const std::vector<SelectedCounterset>& selected, absl::Time from,
    absl::Time to, SeriesSink* sink) {
  size_t next_number = 0;
  std::vector<std::unique_ptr<CountersetReader>> readers;
  for (const SelectedCounterset& counterset : selected) {
    readers.push_back(std::make_unique<CountersetReader>(counterset, from, to,
                                                         sink, &next_number));
  }
  const auto reader_of = [&](const std::shared_ptr<const Schema>& schema) {
    const auto found = std::find_if(
        readers.begin(), readers.end(),
        [&](const auto& reader) { return reader->schema() == schema; });
    return found != readers.end() ? found->get() : nullptr;
  };
  MachineSeries machine_series;
  const Directory& directory = store.directory();
  absl::Duration longest = LongestInterval(directory, machine, selected);
  for (const SelectedCounterset& counterset : selected) {
    // An earlier plan may have had a longer interval.
    longest = std::max(
        longest, directory.LongestInterval(machine, *counterset.schema, from));
  }
  RETURN_IF_ERROR(store.Read(
      {.machine = machine,
       .from = from - longest * kMaxIntervalsRead,
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
           },
       .selected = &selected,
       .may_fold =
           [&](const CollectedQuery& query, int64_t second, int64_t last) {
             return reader_of(query.schema)->TakesFolded(query, second, last);
           },
       .on_chunk = [&] { return sink->Work(kStepsOfChunk); }},
      [&](const Frame& frame) {
        return reader_of(frame.query->schema)->Add(frame);
      },
      [&](const Loss& loss) { machine_series.losses.push_back(loss); }));
  for (const auto& reader : readers) {
    RETURN_IF_ERROR(reader->Finish(machine, &machine_series.series));
    if (!sink->NeedsInstanceNames()) continue;
    machine_series.instance_names[reader->schema()->registration.name].merge(
        reader->InstanceNames());
  }
  return machine_series;
}

}  // namespace fleetperf::aggregator
