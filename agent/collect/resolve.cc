#include "agent/collect/resolve.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/collect/registrations.h"
#include "base/suggest.h"
#include "perflib/counter_type.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterRegistration;
using perflib::CountersetRegistration;
using perflib::Pattern;

bool CountersetMatches(const std::string& text,
                       const CountersetRegistration& registration) {
  if (const auto guid = perflib::ParseGuid(text)) {
    return *guid == registration.guid;
  }
  return Pattern(text).Matches(registration.name);
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
    if (!matched) {
      resolution->problems.push_back(
          {planned,
           absl::StrCat("counterset \"", registration.name,
                        "\" has no counter \"", text, "\"",
                        DidYouMean(text, CounterNames(registration)))});
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

// Adds a query, or merges its counters into a matching query.
void AddQuery(const PlannedQuery& planned, size_t position,
              const CountersetRegistration& registration,
              std::set<uint32_t> named, const std::vector<std::string>& except,
              Resolution* resolution) {
  const std::vector<InstanceFilter> filters = {
      {.instances = PatternsOf(planned.instances),
       .except = PatternsOf(except)}};
  for (ResolvedQuery& query : resolution->queries) {
    if (query.registration.guid == registration.guid &&
        query.interval == planned.interval && query.filters == filters &&
        query.wrap32 == planned.wrap32) {
      AddPosition(position, &query);
      named.merge(NamedIn(query));
      query.counters = InRegistrationOrder(registration, named);
      return;
    }
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
  // Assigns a counter to a query of the plan. Returns the instances that
  // earlier queries collect, or std::nullopt if they collect all.
  std::optional<std::vector<std::string>> Take(const perflib::Guid& counterset,
                                               uint32_t counter, size_t query,
                                               const PlannedQuery& planned) {
    const auto [entry, is_new] = taken_.try_emplace(
        {counterset, counter}, Taken{query, planned.instances});
    if (is_new) return std::vector<std::string>();
    Taken& taken = entry->second;
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
  std::map<std::pair<perflib::Guid, uint32_t>, Taken> taken_;
};

}  // namespace

Resolution ResolvePlan(
    const Plan& plan, const std::string& machine,
    const std::vector<CountersetRegistration>& registrations) {
  Resolution resolution;
  Counters counters;
  for (size_t i = 0; i < plan.queries.size(); ++i) {
    const PlannedQuery& planned = plan.queries[i];
    if (!IsFor(planned, machine)) continue;
    bool matched = false;
    for (const CountersetRegistration& registration : registrations) {
      if (!CountersetMatches(planned.counterset, registration)) continue;
      matched = true;
      // Grouped by the instances that other queries collect.
      std::map<std::vector<std::string>, std::set<uint32_t>> left;
      for (const uint32_t id :
           NamedCounters(planned.counters, registration, i, &resolution)) {
        const auto others = counters.Take(registration.guid, id, i, planned);
        if (others.has_value()) {
          left[*others].insert(id);
        } else if (!planned.counters.empty() && !planned.meanwhile) {
          const size_t by = counters.TakenBy(registration.guid, id);
          resolution.problems.push_back(
              {i, absl::StrCat("counter \"", registration.FindCounter(id)->name,
                               "\" of \"", registration.name,
                               "\" is collected by ", plan.NameOf(by),
                               " already")});
        }
      }
      for (auto& [others, named] : left) {
        AddQuery(planned, i, registration, std::move(named), others,
                 &resolution);
      }
    }
    if (!matched) {
      std::vector<std::string> names;
      for (const auto& registration : registrations) {
        names.push_back(registration.name);
      }
      resolution.problems.push_back(
          {i, absl::StrCat("there is no counterset \"", planned.counterset,
                           "\"", DidYouMean(planned.counterset, names))});
    }
  }
  MergeInstances(&resolution.queries);
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
