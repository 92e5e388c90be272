#include "aggregator/query/sample_feed.h"

#include <algorithm>
#include <set>

namespace fleetperf::aggregator {
namespace {

// The limit of cached lives. Beyond it, the cache is cleared.
constexpr size_t kMaxLives = 100'000;

}  // namespace

SampleFeed::SampleFeed(const SelectedCounterset& selected, SampleSink* sink)
    : schema_(selected.schema), selections_(selected.selections), sink_(*sink) {
  std::set<uint32_t> ids;
  for (const Selection& selection : selections_) {
    ids.insert(selection.counter_ids.begin(), selection.counter_ids.end());
  }
  const perflib::CountersetRegistration& registration = schema_->registration;
  for (const perflib::CounterRegistration& counter : registration.counters) {
    if (ids.contains(counter.counter_id)) {
      formulas_.push_back(FormulaOf(registration, counter));
    }
  }
}

void SampleFeed::Add(const Frame& frame) {
  if (frame.query->schema != schema_) return;
  const std::vector<Columns>& columns = ColumnsOf(frame.query);
  for (size_t run = 0; run < frame.runs.size(); ++run) {
    const SeriesOfInstance& series = SeriesOf(frame.runs[run].instance);
    for (const Columns& of_counter : columns) {
      const std::optional<size_t> number = series[of_counter.counter];
      if (!number.has_value()) continue;
      sink_.AddRun(*number, SeriesRun(frame, run, of_counter.columns));
    }
  }
}

bool SampleFeed::Wants(const Instance& instance) const {
  return std::any_of(selections_.begin(), selections_.end(),
                     [&](const Selection& selection) {
                       return selection.MatchesInstance(instance.name);
                     });
}

std::vector<bool> SampleFeed::WantedColumns(const CollectedQuery& query) {
  std::vector<bool> wanted(query.columns.size());
  for (const Columns& columns : FindColumns(query)) {
    for (const size_t number : columns.columns.Numbers()) {
      wanted[number] = true;
    }
  }
  return wanted;
}

std::vector<CounterFormula> SampleFeed::Formulas(
    const CollectedQuery& query) const {
  std::vector<CounterFormula> formulas;
  for (const Columns& columns : FindColumns(query)) {
    formulas.push_back(formulas_[columns.counter]);
  }
  return formulas;
}

std::vector<size_t> SampleFeed::Forget(
    absl::FunctionRef<bool(size_t)> is_over) {
  series_of_life_.clear();
  columns_.clear();  // may include ended queries
  std::vector<size_t> forgotten;
  absl::erase_if(series_, [&](const auto& entry) {
    std::vector<size_t> numbers;
    for (const std::optional<size_t> number : *entry.second) {
      if (number.has_value()) numbers.push_back(*number);
    }
    if (!std::all_of(numbers.begin(), numbers.end(), is_over)) return false;
    forgotten.insert(forgotten.end(), numbers.begin(), numbers.end());
    return true;
  });
  return forgotten;
}

const std::vector<SampleFeed::Columns>& SampleFeed::ColumnsOf(
    const std::shared_ptr<const CollectedQuery>& query) {
  const auto [entry, is_new] = columns_.try_emplace(query);
  if (is_new) entry->second = FindColumns(*query);
  return entry->second;
}

std::vector<SampleFeed::Columns> SampleFeed::FindColumns(
    const CollectedQuery& query) const {
  std::vector<Columns> found;
  for (size_t i = 0; i < formulas_.size(); ++i) {
    const auto columns = FindSeriesColumns(query, formulas_[i],
                                           sink_.NeedsExtremes(formulas_[i]));
    if (columns.has_value()) found.push_back({i, *columns});
  }
  return found;
}

const SampleFeed::SeriesOfInstance& SampleFeed::SeriesOf(
    const std::shared_ptr<const Instance>& instance) {
  if (series_of_life_.size() > kMaxLives) series_of_life_.clear();
  const SeriesOfInstance*& known = series_of_life_[instance];
  if (known != nullptr) return *known;
  std::unique_ptr<SeriesOfInstance>& series =
      series_[{instance->name, instance->instance_id, instance->occurrence}];
  if (series == nullptr) {
    series = std::make_unique<SeriesOfInstance>(formulas_.size());
    if (!Wants(*instance)) return *(known = series.get());
    for (size_t i = 0; i < formulas_.size(); ++i) {
      bool wanted = false;
      bool any_index = false;
      std::vector<uint32_t> indexes;
      for (const Selection& selection : selections_) {
        if (!selection.MatchesInstance(instance->name) ||
            std::count(selection.counter_ids.begin(),
                       selection.counter_ids.end(),
                       formulas_[i].counter_id) == 0) {
          continue;
        }
        wanted = true;
        if (selection.instance_index.has_value() &&
            !selection.IsLiteral(instance->name)) {
          indexes.push_back(*selection.instance_index);
        } else {
          any_index = true;
        }
      }
      if (!wanted) continue;
      if (any_index) indexes.clear();
      (*series)[i] = sink_.AddSeries(*instance, formulas_[i], indexes);
    }
  }
  known = series.get();
  return *series;
}

}  // namespace fleetperf::aggregator
