#include "base/config/planned_query.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"

namespace fleetperf {
namespace {

constexpr absl::Duration kShortestInterval = absl::Seconds(1);
constexpr absl::Duration kLongestInterval = absl::Hours(24);
constexpr size_t kMaxAggregates = 64;
// PERF_MAX_INSTANCE_NAME, in UTF-8.
constexpr size_t kMaxNameBytes = 3 * 1024;

PlanProblem TooMany(absl::string_view setting, size_t limit,
                    absl::string_view unit) {
  return {.setting = std::string(setting),
          .reason = absl::StrCat("the plan has more than ", limit, " ", unit,
                                 "; use fewer, or wildcards")};
}

// Returns an error with the reason if the names of aggregates are not allowed.
absl::Status CheckAggregates(const std::vector<std::string>& aggregates) {
  if (aggregates.size() > kMaxAggregates) {
    return absl::InvalidArgumentError(absl::StrCat(
        aggregates.size(), " names are more than ", kMaxAggregates));
  }
  for (const std::string& name : aggregates) {
    if (name.empty()) return absl::InvalidArgumentError("a name is empty");
    if (name.find_first_not_of('*') == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", name, "\" would make every instance an aggregate"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckInterval(absl::Duration interval) {
  const std::string text = absl::FormatDuration(interval);
  if (interval < kShortestInterval) {
    return absl::InvalidArgumentError(absl::StrCat(
        text,
        " is too short: counters are not meant to be read more than once "
        "a second, which is the shortest interval"));
  }
  if (interval > kLongestInterval) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " is too long: the longest interval is 24h"));
  }
  if (interval % absl::Seconds(1) != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text, " is not a whole number of seconds"));
  }
  return absl::OkStatus();
}

std::optional<PlanProblem> PlanCheck::AddName(absl::string_view setting,
                                              absl::string_view name) {
  if (name.size() > kMaxNameBytes) {
    return PlanProblem{std::string(setting),
                       absl::StrCat("a name has ", name.size(),
                                    " bytes, more than ", kMaxNameBytes)};
  }
  if (const absl::Status status = CheckText(name); !status.ok()) {
    return PlanProblem{std::string(setting), std::string(status.message())};
  }
  bytes_ += name.size();
  if (++names_ > kMaxPlanNames) return TooMany(setting, kMaxPlanNames, "names");
  if (bytes_ > kMaxPlanBytes) {
    return TooMany(setting, kMaxPlanBytes, "bytes of names");
  }
  return std::nullopt;
}

std::optional<PlanProblem> PlanCheck::AddNames(
    absl::string_view setting, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (auto problem = AddName(setting, name)) return problem;
  }
  return std::nullopt;
}

std::optional<PlanProblem> PlanCheck::Add(const PlannedQuery& query) {
  if (query.counterset.empty()) return PlanProblem{"counterset", "is missing"};
  if (++queries_ > kMaxPlanQueries) {
    return TooMany("counterset", kMaxPlanQueries, "queries");
  }
  if (auto problem = AddName("counterset", query.counterset)) return problem;
  if (auto problem = AddName("name", query.name)) return problem;
  if (auto problem = AddNames("counters", query.counters)) return problem;
  if (auto problem = AddNames("instances", query.instances)) return problem;
  if (auto problem = AddNames("machines", query.machines)) return problem;
  if (const auto status = CheckInterval(query.interval); !status.ok()) {
    return PlanProblem{"interval", std::string(status.message())};
  }
  if (const auto status = CheckAggregates(query.aggregates); !status.ok()) {
    return PlanProblem{"aggregates", std::string(status.message())};
  }
  return AddNames("aggregates", query.aggregates);
}

std::optional<PlanProblem> PlanCheck::Add(const InstanceRule& rule) {
  if (rule.counterset.empty()) return PlanProblem{"counterset", "is missing"};
  if (++rules_ > kMaxPlanQueries) {
    return TooMany("counterset", kMaxPlanQueries, "rules");
  }
  if (auto problem = AddName("counterset", rule.counterset)) return problem;
  if (auto problem = AddNames("include", rule.include)) return problem;
  return AddNames("exclude", rule.exclude);
}

std::vector<PlannedQuery> ReadQueries(ConfigSection& section) {
  std::vector<PlannedQuery> queries;
  PlanCheck check;
  for (ConfigSection element : section.Sections("queries")) {
    PlannedQuery& query = queries.emplace_back();
    element.Require("counterset", &query.counterset);
    element.Read("counters", &query.counters);
    element.Read("instances", &query.instances);
    element.Read("interval", &query.interval, absl::ZeroDuration(),
                 absl::InfiniteDuration());
    element.Read("wrap32", &query.wrap32);
    element.Read("aggregates", &query.aggregates);
    element.Read("machines", &query.machines);
    if (const auto problem = check.Add(query)) {
      element.Error(problem->setting, problem->reason);
    }
  }
  return queries;
}

std::vector<InstanceRule> ReadInstanceRules(ConfigSection& section) {
  std::map<std::string, InstanceRule> rules;
  const auto read = [&](const char* key,
                        std::vector<std::string> InstanceRule::*list) {
    std::map<std::string, std::vector<std::string>> patterns;
    section.Read(key, &patterns);
    for (auto& [counterset, names] : patterns) {
      if (counterset.empty() || names.empty()) {
        section.Error(key, absl::StrCat("\"", counterset,
                                        "\" needs a counterset's name and at "
                                        "least one pattern"));
      }
      rules[counterset].counterset = counterset;
      rules[counterset].*list = std::move(names);
    }
  };
  read("include", &InstanceRule::include);
  read("exclude", &InstanceRule::exclude);
  std::vector<InstanceRule> list;
  PlanCheck check;
  for (auto& [counterset, rule] : rules) {
    if (const auto problem = check.Add(rule)) {
      section.Error(rule.include.empty() ? "exclude" : "include",
                    absl::StrCat("\"", counterset, "\": ", problem->setting,
                                 ": ", problem->reason));
    }
    list.push_back(std::move(rule));
  }
  return list;
}

}  // namespace fleetperf
