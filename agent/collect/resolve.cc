#include "agent/collect/resolve.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/collect/registrations.h"
#include "base/text/suggest.h"
#include "perflib/counter_type.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterRegistration;
using perflib::CountersetRegistration;
using perflib::Pattern;

// The bounds of a resolution. Honest plans stay below a hundredth of the first
// two. A second of comparisons, and less than 100 MB.
constexpr size_t kMaxComparisons = 5'000'000;
constexpr size_t kMaxParts = 200'000;
constexpr size_t kMaxProblems = 200;
// Queries of a counterset before those that differ only in their instances are
// merged, and after. Each of the latter collects the counterset separately.
constexpr size_t kMaxOfCounterset = 64;
constexpr size_t kMaxMergedOfCounterset = 16;
// The most queries in all: so many for each counterset, and some more.
constexpr size_t kMaxForEachCounterset = 2;
constexpr size_t kMaxMore = 200;

// What a resolution has cost so far.
struct Cost {
  size_t comparisons = 0;  // of names
  size_t parts = 0;        // patterns, counters and positions that are kept

  bool IsTooHigh() const {
    return comparisons > kMaxComparisons || parts > kMaxParts;
  }
};

void AddProblem(size_t planned, std::string message, Resolution* resolution) {
  if (resolution->problems.size() < kMaxProblems) {
    resolution->problems.push_back({planned, std::move(message)});
  } else if (resolution->problems.size() == kMaxProblems) {
    resolution->problems.push_back(
        {planned, "the plan has further problems, which are omitted"});
  }
}

// Counters without a name cannot be selected; they accompany others.
bool CounterMatches(absl::string_view text,
                    const CounterRegistration& counter) {
  uint32_t id;
  absl::string_view digits = text;
  if (absl::ConsumePrefix(&digits, "id:") && absl::SimpleAtoi(digits, &id)) {
    return id == counter.counter_id;
  }
  return !counter.name.empty() && Pattern(text).Matches(counter.name);
}

std::vector<std::string> CounterNames(
    const CountersetRegistration& registration) {
  std::vector<std::string> names;
  for (const CounterRegistration& counter : registration.counters) {
    if (!counter.name.empty()) names.push_back(counter.name);
  }
  return names;
}

// Returns the ids of the counters named in `texts`. If it is empty, all
// counters with a name.
std::set<uint32_t> NamedCounters(const std::vector<std::string>& texts,
                                 const CountersetRegistration& registration,
                                 size_t planned, Resolution* resolution) {
  std::set<uint32_t> ids;
  for (const CounterRegistration& counter : registration.counters) {
    if (texts.empty() && !counter.name.empty()) ids.insert(counter.counter_id);
  }
  for (const std::string& text : texts) {
    bool matched = false;
    for (const CounterRegistration& counter : registration.counters) {
      if (!CounterMatches(text, counter)) continue;
      matched = true;
      ids.insert(counter.counter_id);
    }
    if (!matched && resolution->problems.size() <= kMaxProblems) {
      AddProblem(planned,
                 absl::StrCat("counterset \"", registration.name,
                              "\" has no counter \"", text, "\"",
                              DidYouMean(text, CounterNames(registration))),
                 resolution);
    }
  }
  return ids;
}

// Adds the counters that the formulas of the counters in `ids` need.
void AddLinks(const CountersetRegistration& registration,
              std::set<uint32_t>* ids) {
  const std::set<uint32_t> named = *ids;
  for (const CounterRegistration& counter : registration.counters) {
    if (!named.contains(counter.counter_id)) continue;
    for (const uint32_t link : {counter.base_counter_id, counter.perf_time_id,
                                counter.perf_freq_id, counter.multi_id}) {
      if (link != perflib::kNoCounter &&
          registration.FindCounter(link) != nullptr) {
        ids->insert(link);
      }
    }
  }
}

std::optional<uint32_t> StartCounter(
    const CountersetRegistration& registration) {
  if (!registration.HasInstances()) return std::nullopt;
  for (const CounterRegistration& counter : registration.counters) {
    if (counter.type == perflib::kPerfElapsedTime) return counter.counter_id;
  }
  return std::nullopt;
}

std::vector<ResolvedQuery::Counter> InRegistrationOrder(
    const CountersetRegistration& registration,
    const std::set<uint32_t>& named) {
  std::set<uint32_t> all = named;
  AddLinks(registration, &all);
  std::vector<ResolvedQuery::Counter> counters;
  for (const CounterRegistration& counter : registration.counters) {
    if (!all.contains(counter.counter_id)) continue;
    counters.push_back({.id = counter.counter_id,
                        .only_linked = !named.contains(counter.counter_id)});
  }
  return counters;
}

std::set<uint32_t> NamedIn(const ResolvedQuery& query) {
  std::set<uint32_t> named;
  for (const ResolvedQuery::Counter& counter : query.counters) {
    if (!counter.only_linked) named.insert(counter.id);
  }
  return named;
}

std::vector<Pattern> PatternsOf(const std::vector<std::string>& texts) {
  std::vector<Pattern> patterns;
  for (const std::string& text : texts) patterns.emplace_back(text);
  return patterns;
}

void AddPosition(size_t position, ResolvedQuery* query) {
  std::vector<size_t>& planned = query->planned;
  const auto at = std::lower_bound(planned.begin(), planned.end(), position);
  if (at == planned.end() || *at != position) planned.insert(at, position);
}

std::string TooManyQueries(absl::string_view counterset, size_t limit) {
  return absl::StrCat("counterset \"", counterset, "\" has more than ", limit,
                      " queries that differ in their interval, counters or "
                      "instances; use fewer");
}

// Adds a query, or merges its counters into a matching query.
void AddQuery(const PlannedQuery& planned, size_t position,
              const CountersetRegistration& registration,
              std::set<uint32_t> named, const std::vector<std::string>& except,
              Resolution* resolution, Cost* cost) {
  cost->parts += planned.instances.size() + except.size() +
                 registration.counters.size() + 1;
  if (cost->IsTooHigh()) return;
  const std::vector<InstanceFilter> filters = {
      {.instances = PatternsOf(planned.instances),
       .except = PatternsOf(except)}};
  size_t others = 0;
  for (ResolvedQuery& query : resolution->queries) {
    if (query.registration.guid != registration.guid) continue;
    ++others;
    if (query.interval == planned.interval && query.filters == filters &&
        query.wrap32 == planned.wrap32) {
      AddPosition(position, &query);
      named.merge(NamedIn(query));
      query.counters = InRegistrationOrder(registration, named);
      return;
    }
  }
  if (others == kMaxOfCounterset) {
    return AddProblem(position,
                      TooManyQueries(registration.name, kMaxOfCounterset),
                      resolution);
  }
  resolution->queries.push_back(
      {.planned = {position},
       .registration = registration,
       .interval = planned.interval,
       .counters = InRegistrationOrder(registration, named),
       .start_counter_id = StartCounter(registration),
       .filters = filters,
       .wrap32 = planned.wrap32});
}

// Merges queries that differ only in their instances. They would share a
// definition, and each tick would lack the instances of the others.
void MergeInstances(std::vector<ResolvedQuery>* queries) {
  std::vector<ResolvedQuery> merged;
  for (ResolvedQuery& query : *queries) {
    const auto same =
        std::find_if(merged.begin(), merged.end(), [&](const auto& other) {
          return other.registration.guid == query.registration.guid &&
                 other.interval == query.interval &&
                 other.counters == query.counters &&
                 other.wrap32 == query.wrap32;
        });
    if (same == merged.end()) {
      merged.push_back(std::move(query));
    } else {
      for (const size_t position : query.planned) AddPosition(position, &*same);
      same->filters.insert(same->filters.end(), query.filters.begin(),
                           query.filters.end());
    }
  }
  *queries = std::move(merged);
}

// Sets the aggregates of each query's counterset: those of all queries of the
// plan for it, since they share its definition.
void AddAggregates(const Plan& plan, const std::string& machine,
                   Resolution* resolution, Cost* cost) {
  for (ResolvedQuery& query : resolution->queries) {
    std::set<std::string> names;
    for (size_t i = 0; i < plan.queries.size(); ++i) {
      const PlannedQuery& planned = plan.queries[i];
      if (planned.aggregates.empty() || !IsFor(planned, machine) ||
          !NamesCounterset(planned.counterset, query.registration)) {
        continue;
      }
      cost->comparisons += planned.aggregates.size();
      if (cost->IsTooHigh()) return;
      names.insert(planned.aggregates.begin(), planned.aggregates.end());
      if (names.size() <= kMaxAggregates) continue;
      names.erase(std::next(names.begin(), kMaxAggregates), names.end());
      AddProblem(i,
                 absl::StrCat("counterset \"", query.registration.name,
                              "\" has more than ", kMaxAggregates,
                              " names of aggregates"),
                 resolution);
    }
    query.registration.aggregates.assign(names.begin(), names.end());
  }
}

// The queries that collect a counter.
struct Taken {
  size_t by;  // the first query
  std::vector<std::string>
      instances;  // of all these queries; empty: all instances
};

// Returns whether `taken` covers every instance in `wanted`, as far as the
// patterns tell.
bool CoversAll(const std::vector<std::string>& taken,
               const std::vector<std::string>& wanted) {
  const auto is_taken = [&](const std::string& text) {
    return std::count(taken.begin(), taken.end(), text) > 0;
  };
  return taken.empty() || (!wanted.empty() &&
                           std::all_of(wanted.begin(), wanted.end(), is_taken));
}

// Assigns the counters of a plan's queries, one query after the other.
class Counters {
 public:
  // Adds the comparisons to `cost`, which must outlive the object.
  explicit Counters(Cost* cost) : cost_(*cost) {}

  // Assigns a counter to a query of the plan. Returns the instances that
  // earlier queries collect, or std::nullopt if they collect all.
  std::optional<std::vector<std::string>> Take(const perflib::Guid& counterset,
                                               uint32_t counter, size_t query,
                                               const PlannedQuery& planned) {
    const auto [entry, is_new] = taken_.try_emplace(
        {counterset, counter}, Taken{query, planned.instances});
    if (is_new) return std::vector<std::string>();
    Taken& taken = entry->second;
    cost_.comparisons +=
        taken.instances.size() * std::max<size_t>(planned.instances.size(), 1);
    if (cost_.IsTooHigh()) return std::nullopt;
    if (CoversAll(taken.instances, planned.instances)) return std::nullopt;
    std::vector<std::string> others = taken.instances;
    if (planned.instances.empty()) {
      taken.instances.clear();
    } else {
      taken.instances.insert(taken.instances.end(), planned.instances.begin(),
                             planned.instances.end());
    }
    return others;
  }

  // Returns the first query that collects the counter.
  size_t TakenBy(const perflib::Guid& counterset, uint32_t counter) const {
    return taken_.at({counterset, counter}).by;
  }

 private:
  Cost& cost_;
  std::map<std::pair<perflib::Guid, uint32_t>, Taken> taken_;
};

std::string NoCounterset(
    const std::string& text,
    const std::vector<CountersetRegistration>& registrations) {
  std::vector<std::string> names;
  for (const CountersetRegistration& registration : registrations) {
    names.push_back(registration.name);
  }
  return absl::StrCat("there is no counterset \"", text, "\"",
                      DidYouMean(text, names));
}

// The plan's queries for the machine.
std::vector<PlannedQuery> QueriesFor(const Plan& plan,
                                     const std::string& machine) {
  std::vector<PlannedQuery> queries;
  for (const PlannedQuery& query : plan.queries) {
    if (IsFor(query, machine)) queries.push_back(query);
  }
  return queries;
}

// Keeps the first queries of each counterset, and the first in all.
void BoundQueries(size_t countersets, Resolution* resolution) {
  std::map<perflib::Guid, size_t> counts;
  std::vector<ResolvedQuery> kept;
  const size_t most = kMaxForEachCounterset * countersets + kMaxMore;
  for (ResolvedQuery& query : resolution->queries) {
    const std::string& name = query.registration.name;
    if (++counts[query.registration.guid] > kMaxMergedOfCounterset) {
      AddProblem(query.planned.front(),
                 TooManyQueries(name, kMaxMergedOfCounterset), resolution);
    } else if (kept.size() == most) {
      AddProblem(query.planned.front(),
                 absl::StrCat("counterset \"", name,
                              "\" is not collected by this query: the plan "
                              "has more than ",
                              most, " queries of countersets"),
                 resolution);
    } else {
      kept.push_back(std::move(query));
    }
  }
  resolution->queries = std::move(kept);
}

void SetSelections(const Plan& plan, const std::string& machine,
                   std::vector<ResolvedQuery>* queries, Cost* cost) {
  const std::vector<PlannedQuery> planned = QueriesFor(plan, machine);
  for (ResolvedQuery& query : *queries) {
    query.selection =
        InstanceSelection(query.registration, planned, plan.rules);
    cost->parts += query.selection.size();
    cost->comparisons += planned.size() + plan.rules.size();
    if (cost->IsTooHigh()) return;
  }
}

// Returns the number of patterns in the selections of all countersets.
size_t CountSelections(const std::vector<CountersetRegistration>& registrations,
                       const std::vector<PlannedQuery>& queries,
                       const std::vector<InstanceRule>& rules) {
  size_t patterns = 0;
  for (const CountersetRegistration& registration : registrations) {
    for (const PlannedQuery& query : queries) {
      const size_t names = query.instances.size() + query.aggregates.size();
      if (names == 0 || !NamesCounterset(query.counterset, registration)) {
        continue;
      }
      patterns += names;
    }
    for (const InstanceRule& rule : rules) {
      if (!NamesCounterset(rule.counterset, registration)) continue;
      patterns += rule.include.size() + rule.exclude.size();
    }
  }
  return patterns;
}

// Reports the query, and those after it, as not collected.
void ReportTooHigh(const Plan& plan, const std::string& machine, size_t first,
                   Resolution* resolution) {
  for (size_t i = first; i < plan.queries.size(); ++i) {
    if (!IsFor(plan.queries[i], machine)) continue;
    resolution->problems.push_back(
        {i,
         "not collected: the plan names too many instances and counters of the "
         "same countersets; use fewer queries, or wildcards"});
  }
}

// Adds the planned query to the resolution.
void ResolveQuery(const Plan& plan, size_t position,
                  const std::vector<CountersetRegistration>& registrations,
                  Counters* counters, Cost* cost, Resolution* resolution) {
  const PlannedQuery& planned = plan.queries[position];
  bool matched = false;
  for (const CountersetRegistration& registration : registrations) {
    ++cost->comparisons;
    if (!NamesCounterset(planned.counterset, registration)) continue;
    matched = true;
    cost->comparisons += planned.counters.size() * registration.counters.size();
    if (cost->IsTooHigh()) return;
    // Grouped by the instances that other queries collect.
    std::map<std::vector<std::string>, std::set<uint32_t>> left;
    for (const uint32_t id :
         NamedCounters(planned.counters, registration, position, resolution)) {
      const auto others =
          counters->Take(registration.guid, id, position, planned);
      if (others.has_value()) {
        left[*others].insert(id);
      } else if (!planned.counters.empty() && !planned.meanwhile) {
        const size_t by = counters->TakenBy(registration.guid, id);
        AddProblem(
            position,
            absl::StrCat("counter \"", registration.FindCounter(id)->name,
                         "\" of \"", registration.name, "\" is collected by ",
                         plan.NameOf(by), " already"),
            resolution);
      }
    }
    for (auto& [others, named] : left) {
      AddQuery(planned, position, registration, std::move(named), others,
               resolution, cost);
    }
    if (cost->IsTooHigh()) return;
  }
  if (!matched && resolution->problems.size() <= kMaxProblems) {
    AddProblem(position, NoCounterset(planned.counterset, registrations),
               resolution);
  }
}

}  // namespace

Resolution ResolvePlan(
    const Plan& plan, const std::string& machine,
    const std::vector<CountersetRegistration>& registrations) {
  Resolution resolution;
  Cost cost;
  Counters counters(&cost);
  for (size_t i = 0; i < plan.queries.size(); ++i) {
    if (!IsFor(plan.queries[i], machine)) continue;
    ResolveQuery(plan, i, registrations, &counters, &cost, &resolution);
    if (!cost.IsTooHigh()) continue;
    ReportTooHigh(plan, machine, i, &resolution);
    break;
  }
  MergeInstances(&resolution.queries);
  BoundQueries(registrations.size(), &resolution);
  cost = {};  // of the next steps
  SetSelections(plan, machine, &resolution.queries, &cost);
  for (const InstanceRule& rule : plan.rules) {
    const bool matches =
        std::any_of(registrations.begin(), registrations.end(),
                    [&](const CountersetRegistration& registration) {
                      return NamesCounterset(rule.counterset, registration);
                    });
    if (matches || resolution.rule_problems.size() == kMaxProblems) continue;
    resolution.rule_problems.push_back(absl::StrCat(
        "include or exclude: ", NoCounterset(rule.counterset, registrations)));
  }
  AddAggregates(plan, machine, &resolution, &cost);
  // Without the selections and aggregates of all, nothing is collected right.
  if (cost.IsTooHigh()) {
    resolution = {};
    ReportTooHigh(plan, machine, 0, &resolution);
  }
  return resolution;
}

Resolution DefineAndResolve(
    Source& source, Plan plan, const std::string& machine,
    std::vector<CountersetRegistration>* registrations) {
  std::vector<PlannedQuery> queries;
  std::vector<size_t> positions;  // in the plan
  for (size_t query = 0; query < plan.queries.size(); ++query) {
    if (!IsFor(plan.queries[query], machine)) continue;
    queries.push_back(plan.queries[query]);
    positions.push_back(query);
  }
  if (CountSelections(*registrations, queries, plan.rules) > kMaxParts) {
    Resolution nothing;
    ReportTooHigh(plan, machine, 0, &nothing);
    return nothing;
  }
  source.SelectInstances(queries, plan.rules);
  const DefinedCounters defined = source.DefineCounters(&queries);
  for (size_t i = 0; i < queries.size(); ++i) {
    plan.queries[positions[i]] = std::move(queries[i]);
  }
  for (CountersetRegistration& registration : *registrations) {
    if (std::count(defined.changed.begin(), defined.changed.end(),
                   registration.guid) == 0) {
      continue;
    }
    auto loaded = LoadRegistration(source, registration.guid);
    if (loaded.ok()) registration = *std::move(loaded);
  }
  Resolution resolution = ResolvePlan(plan, machine, *registrations);
  for (const DefinedCounters::Problem& problem : defined.problems) {
    resolution.problems.push_back(
        {.planned = positions[problem.query], .message = problem.message});
  }
  return resolution;
}

}  // namespace fleetperf::agent
