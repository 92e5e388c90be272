#include "agent/collect/resolve.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
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

// Counters without a name only come along with others.
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

// The ids of the counters that `texts` name; all with a name if it is empty.
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

// Adds the counters that the formulas of those in `ids` need.
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

// Adds a query, or its counters to one that is alike.
void AddQuery(const PlannedQuery& planned, size_t position,
              const CountersetRegistration& registration,
              std::set<uint32_t> named, Resolution* resolution) {
  std::vector<Pattern> instances;
  for (const std::string& text : planned.instances) {
    instances.emplace_back(text);
  }
  for (ResolvedQuery& query : resolution->queries) {
    if (query.registration.guid == registration.guid &&
        query.interval == planned.interval && query.instances == instances &&
        query.wrap32 == planned.wrap32) {
      named.merge(NamedIn(query));
      query.counters = InRegistrationOrder(registration, named);
      return;
    }
  }
  resolution->queries.push_back(
      {.planned = position,
       .registration = registration,
       .interval = planned.interval,
       .counters = InRegistrationOrder(registration, named),
       .start_counter_id = StartCounter(registration),
       .instances = std::move(instances),
       .wrap32 = planned.wrap32});
}

}  // namespace

Resolution ResolvePlan(
    const Plan& plan, const std::string& machine,
    const std::vector<CountersetRegistration>& registrations) {
  Resolution resolution;
  std::map<std::pair<perflib::Guid, uint32_t>, size_t> taken_by;
  for (size_t i = 0; i < plan.queries.size(); ++i) {
    const PlannedQuery& planned = plan.queries[i];
    if (!planned.IsFor(machine)) continue;
    bool matched = false;
    for (const CountersetRegistration& registration : registrations) {
      if (!CountersetMatches(planned.counterset, registration)) continue;
      matched = true;
      std::set<uint32_t> named =
          NamedCounters(planned.counters, registration, i, &resolution);
      std::erase_if(named, [&](uint32_t id) {
        const auto [entry, is_new] =
            taken_by.try_emplace({registration.guid, id}, i);
        if (!is_new && !planned.counters.empty()) {
          resolution.problems.push_back(
              {i, absl::StrCat("counter \"", registration.FindCounter(id)->name,
                               "\" of \"", registration.name,
                               "\" is collected by queries[", entry->second,
                               "] already")});
        }
        return !is_new;
      });
      if (!named.empty()) {
        AddQuery(planned, i, registration, std::move(named), &resolution);
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
  return resolution;
}

}  // namespace fleetperf::agent
