#include "aggregator/query/range_query.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "aggregator/query/resolver.h"
#include "aggregator/query/sample_feed.h"
#include "aggregator/query/series.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace fleetperf::aggregator {
namespace {

constexpr int64_t kMaxWindows = 100'000;
constexpr size_t kMaxSeries = 200'000;
constexpr size_t kMaxPoints = 10'000'000;

absl::Status CheckRequest(const RangeRequest& request) {
  if (request.since.has_value() == request.start.has_value()) {
    return absl::InvalidArgumentError(
        "exactly one of since and start is needed");
  }
  if (request.since.has_value() && *request.since <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("since must be more than 0");
  }
  if (request.step < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("step must not be negative");
  }
  return absl::OkStatus();
}

// A start that is so long before the end is moved down to a multiple of the
// step, so that asking again gives the same windows.
absl::Time AlignDown(absl::Time time, absl::Duration step) {
  if (step == absl::ZeroDuration()) return time;
  return absl::UnixEpoch() + absl::Floor(time - absl::UnixEpoch(), step);
}

absl::StatusOr<WindowGrid> GridOf(const RangeRequest& request, absl::Time now) {
  WindowGrid grid{.end = request.end.value_or(now), .step = request.step};
  grid.start = request.start.has_value()
                   ? *request.start
                   : AlignDown(grid.end - *request.since, request.step);
  if (grid.start >= grid.end) {
    return absl::InvalidArgumentError("the range ends before it starts");
  }
  if (grid.count() > kMaxWindows) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the range has ", grid.count(), " windows, more than ",
                     kMaxWindows, "; choose a longer step"));
  }
  return grid;
}

// The query on one machine.
class MachineQuery {
 public:
  MachineQuery(const std::string& machine,
               const std::vector<SelectedCounterset>& selected,
               const RangeRequest& request, const WindowGrid& grid)
      : machine_(machine), request_(request), grid_(grid) {
    for (const SelectedCounterset& counterset : selected) {
      countersets_.push_back(
          std::make_unique<Counterset>(counterset, grid, request.over));
    }
  }

  absl::Status Read(Store& store) {
    // Far enough back for the samples that the first windows begin with.
    absl::Duration longest;
    for (const auto& counterset : store.directory().Countersets(machine_)) {
      for (const auto& [id, interval] : counterset.counters) {
        longest = std::max(longest, interval);
      }
    }
    return store.Read(
        {.machine = machine_,
         .from = grid_.start - longest * kMaxIntervalsApart,
         .to = grid_.end,
         .filter =
             [this](const CollectedQuery& query) {
               return Find(query.schema) != nullptr;
             }},
        [this](const Frame& frame) {
          return Find(frame.query->schema)->Add(frame);
        },
        [this](const Loss& loss) { losses_.push_back(loss); });
  }

  void Finish(std::vector<SeriesResult>* results) {
    for (const auto& counterset : countersets_) {
      counterset->Finish(machine_, request_, losses_, results);
    }
  }

  void AddInstanceNames(std::set<std::string>* names) const {
    for (const auto& counterset : countersets_) {
      names->merge(counterset->feed.InstanceNames());
    }
  }

 private:
  struct Counterset : SampleSink {
    Counterset(const SelectedCounterset& selected_counterset,
               const WindowGrid& window_grid, Over over_mode)
        : selected(selected_counterset),
          grid(window_grid),
          over(over_mode),
          feed(selected_counterset, this) {}

    size_t AddSeries(const Instance& instance, const CounterFormula& formula,
                     std::vector<uint32_t> wanted_indexes) override {
      series.push_back({instance, formula.counter_id, std::move(wanted_indexes),
                        RangeEvaluator(formula, grid, over)});
      return series.size() - 1;
    }

    void AddSamples(size_t number, absl::Span<const RawSample> samples,
                    absl::Duration sampling_interval) override {
      RangeEvaluator& evaluator = series[number].evaluator;
      for (const RawSample& sample : samples) {
        evaluator.Add(sample, sampling_interval);
      }
    }

    absl::Status Add(const Frame& frame) {
      feed.Add(frame);
      interval = std::max(interval, frame.query->interval);
      newest_sound_tick = NewestSoundTick(frame).value_or(newest_sound_tick);
      if (series.size() > kMaxSeries) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "the query has more than ", kMaxSeries,
            " series on one machine; select fewer instances or counters"));
      }
      return absl::OkStatus();
    }

    // The last tick of the frame, within the range, that tells which instances
    // there are.
    std::optional<absl::Time> NewestSoundTick(const Frame& frame) const;
    void Finish(const std::string& machine, const RangeRequest& request,
                const std::vector<Loss>& losses,
                std::vector<SeriesResult>* results);
    std::map<std::tuple<std::string, uint32_t, uint32_t>, uint32_t>
    IndexInstances() const;

    struct Series {
      Instance instance;
      uint32_t counter_id;
      std::vector<uint32_t> wanted_indexes;
      RangeEvaluator evaluator;
    };

    const SelectedCounterset selected;
    const WindowGrid grid;
    const Over over;
    SampleFeed feed;
    std::vector<Series> series;
    absl::Time newest_sound_tick = absl::InfinitePast();
    absl::Duration interval;
  };

  Counterset* Find(const std::shared_ptr<const Schema>& schema) {
    for (const auto& counterset : countersets_) {
      if (counterset->selected.schema == schema) return counterset.get();
    }
    return nullptr;
  }

  const std::string& machine_;
  const RangeRequest& request_;
  const WindowGrid grid_;
  std::vector<std::unique_ptr<Counterset>> countersets_;
  std::vector<Loss> losses_;
};

std::optional<absl::Time> MachineQuery::Counterset::NewestSoundTick(
    const Frame& frame) const {
  for (size_t tick = frame.clocks->size(); tick-- > 0;) {
    const absl::Time time = perflib::TimeFromPerfTime100NSec(
        (*frame.clocks)[tick].perf_time_100nsec);
    if (time <= grid.end && !frame.HasFailed(static_cast<uint32_t>(tick))) {
      return time;
    }
  }
  return std::nullopt;
}

// Which of the instances of its name each is, by instance id. Names are
// compared as paths do.
std::map<std::tuple<std::string, uint32_t, uint32_t>, uint32_t>
MachineQuery::Counterset::IndexInstances() const {
  std::set<std::tuple<std::string, uint32_t, uint32_t, std::string>> instances;
  for (const Series& one : series) {
    instances.emplace(absl::AsciiStrToLower(one.instance.name),
                      one.instance.instance_id, one.instance.occurrence,
                      one.instance.name);
  }
  std::map<std::tuple<std::string, uint32_t, uint32_t>, uint32_t> indexes;
  std::string last;
  uint32_t next = 0;
  for (const auto& [lower, id, occurrence, name] : instances) {
    next = lower == last ? next + 1 : 0;
    last = lower;
    indexes[{name, id, occurrence}] = next;
  }
  return indexes;
}

void MachineQuery::Counterset::Finish(const std::string& machine,
                                      const RangeRequest& request,
                                      const std::vector<Loss>& losses,
                                      std::vector<SeriesResult>* results) {
  const auto indexes = IndexInstances();
  const perflib::CountersetRegistration& registration =
      selected.schema->registration;
  for (const Series& one : series) {
    const Instance& instance = one.instance;
    const uint32_t index =
        indexes.at({instance.name, instance.instance_id, instance.occurrence});
    const auto& wanted = one.wanted_indexes;
    if (!wanted.empty() &&
        std::count(wanted.begin(), wanted.end(), index) == 0) {
      continue;
    }
    const bool named =
        std::any_of(selected.selections.begin(), selected.selections.end(),
                    [&](const Selection& selection) {
                      return selection.instance.has_value() &&
                             !selection.instance->has_wildcards() &&
                             selection.MatchesInstance(instance.name);
                    });
    if (request.top > 0 && IsAggregate(instance.name) && !named) continue;
    // Unless a later tick shows that the instance is gone.
    const bool goes_on = one.evaluator.newest().has_value() &&
                         newest_sound_tick - *one.evaluator.newest() <=
                             interval * kMaxIntervalsApart;
    SeriesResult result{
        .series = DescribeSeries(machine, *selected.schema,
                                 *registration.FindCounter(one.counter_id),
                                 instance, index),
        .points = one.evaluator.Finish(goes_on, losses),
        .total = one.evaluator.Total()};
    if (!result.points.empty()) results->push_back(std::move(result));
  }
}

void KeepTop(uint32_t top, std::vector<SeriesResult>* results) {
  std::erase_if(*results, [](const SeriesResult& result) {
    return !result.total.result.ok();
  });
  std::stable_sort(results->begin(), results->end(),
                   [](const SeriesResult& a, const SeriesResult& b) {
                     return a.total.result.value > b.total.result.value;
                   });
  if (results->size() > top) results->resize(top);
}

}  // namespace

absl::StatusOr<std::vector<SeriesResult>> RunRangeQuery(
    const RangeRequest& request, Store& store, const MachineNow& now_of) {
  RETURN_IF_ERROR(CheckRequest(request));
  ASSIGN_OR_RETURN(const PathSet paths,
                   PathSet::Parse(request.paths, store.directory()));
  ASSIGN_OR_RETURN(const Selected selected, paths.Select(store.directory()));
  std::vector<SeriesResult> results;
  std::set<std::string> instance_names;
  size_t points = 0;
  for (const auto& [machine, countersets] : selected) {
    ASSIGN_OR_RETURN(const WindowGrid grid, GridOf(request, now_of(machine)));
    MachineQuery query(machine, countersets, request, grid);
    RETURN_IF_ERROR(query.Read(store));
    const size_t first = results.size();
    query.Finish(&results);
    if (results.empty()) query.AddInstanceNames(&instance_names);
    for (size_t i = first; i < results.size(); ++i) {
      points += results[i].points.size();
    }
    if (points > kMaxPoints) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the answer has more than ", kMaxPoints,
                       " values; choose a longer step or fewer series"));
    }
  }
  if (results.empty() && !instance_names.empty()) {
    RETURN_IF_ERROR(paths.CheckInstances(instance_names));
  }
  if (request.top > 0) {
    KeepTop(request.top, &results);
  } else {
    std::sort(
        results.begin(), results.end(),
        [](const SeriesResult& a, const SeriesResult& b) {
          return std::forward_as_tuple(a.series.machine(), a.series.path()) <
                 std::forward_as_tuple(b.series.machine(), b.series.path());
        });
  }
  return results;
}

}  // namespace fleetperf::aggregator
