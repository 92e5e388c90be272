#include "aggregator/history/engine_question.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator/export/metric_names.h"
#include "aggregator/export/raw_names.h"
#include "values/counter_formula.h"

namespace fleetperf::aggregator {
namespace {

// VictoriaMetrics refuses queries of more than 16 KiB (-search.maxQueryLen).
constexpr size_t kMaxNames = 8 << 10;
constexpr size_t kMaxInstanceRegex = 4 << 10;
constexpr char kSpecial[] = "*?#";

// Returns a text as a string of PromQL.
std::string Quote(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Returns a regular expression that matches at least the names that a pattern
// matches, as labels have them: their bytes may be replaced, unless they are
// printable ASCII.
std::string RegexOf(const perflib::Pattern& pattern) {
  constexpr char kAny[] = ".*";
  const absl::string_view text = pattern.text();
  std::string regex;
  bool ends_with_any = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    const bool is_escaped = c == '[' && i + 2 < text.size() &&
                            text[i + 2] == ']' &&
                            absl::string_view(kSpecial).find(text[i + 1]) !=
                                absl::string_view::npos;
    if (is_escaped) {
      c = text[i + 1];
      i += 2;
    } else if (c == '*' || c == '?' ||
               !absl::ascii_isprint(static_cast<unsigned char>(c))) {
      if (!std::exchange(ends_with_any, true)) regex += kAny;
      continue;
    }
    ends_with_any = false;
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) regex += '\\';
    regex += c;
  }
  return regex;
}

// Returns a matcher for the label of selected instances, which also matches
// ticks, without such a label; "" if all are to be matched.
std::string InstanceMatcher(const SelectedCounterset& counterset) {
  std::set<std::string> names;
  for (const Selection& selection : counterset.selections) {
    if (!selection.instance.has_value()) return "";
    names.insert(RegexOf(*selection.instance));
  }
  const std::string regex = absl::StrJoin(names, "|");
  if (names.contains(".*") || regex.size() > kMaxInstanceRegex) return "";
  return absl::StrCat(",instance=~", Quote(absl::StrCat("(?is:", regex, ")|")));
}

// Returns the counters of the formulas of all selected counters.
std::set<uint32_t> ColumnsOf(const SelectedCounterset& counterset) {
  const perflib::CountersetRegistration& registration =
      counterset.schema->registration;
  std::set<uint32_t> columns;
  for (const Selection& selection : counterset.selections) {
    for (const uint32_t id : selection.counter_ids) {
      const auto* counter = registration.FindCounter(id);
      if (counter == nullptr) continue;
      const CounterFormula formula = FormulaOf(registration, *counter);
      columns.insert(id);
      for (const auto& other :
           {formula.denominator_id, formula.frequency_id, formula.multi_id}) {
        if (other.has_value()) columns.insert(*other);
      }
    }
  }
  return columns;
}

}  // namespace

EngineQuestion::EngineQuestion(absl::string_view machine,
                               const std::vector<SelectedCounterset>& selected)
    : selected_(selected) {
  const std::string label = ValidUtf8(machine);
  for (size_t i = 0; i < selected.size(); ++i) Add(selected[i], i, label);
}

void EngineQuestion::Add(const SelectedCounterset& counterset, size_t number,
                         const std::string& machine) {
  const std::string schema = SchemaText(*counterset.schema);
  const std::string matchers =
      absl::StrCat("machine=", Quote(machine), ",", kSchemaLabel, "=\"", schema,
                   "\"", InstanceMatcher(counterset), "}");
  std::string names;
  const auto end_selector = [&] {
    if (names.empty()) return;
    selectors_.push_back(absl::StrCat("{__name__=~\"", names, "\",", matchers));
    names.clear();
  };
  const auto add = [&](const std::string& metric, SeriesRole role) {
    role.counterset = number;
    roles_[absl::StrCat(schema, metric)] = role;
    if (names.size() + metric.size() > kMaxNames) end_selector();
    absl::StrAppend(&names, names.empty() ? "" : "|", metric);
  };
  const auto add_both = [&](const std::string& metric, SeriesRole role) {
    add(metric, role);
    role.is_high = true;
    add(HighMetric(metric), role);
  };
  using Kind = SeriesRole::Kind;
  const perflib::CountersetRegistration& registration =
      counterset.schema->registration;
  const RawMetrics metrics = RawMetricsOf(registration);
  add_both(metrics.perf_time, {.kind = Kind::kPerfTime});
  add_both(metrics.perf_freq, {.kind = Kind::kPerfFreq});
  add(metrics.perf_time_100ns, {.kind = Kind::kPerfTime100NSec});
  add(metrics.status, {.kind = Kind::kStatus});
  add(metrics.epoch, {.kind = Kind::kEpoch});
  add(metrics.presence, {.kind = Kind::kPresence});
  const std::set<uint32_t> columns = ColumnsOf(counterset);
  for (size_t i = 0; i < registration.counters.size(); ++i) {
    const uint32_t id = registration.counters[i].counter_id;
    if (!columns.contains(id)) continue;
    add_both(metrics.counters[i], {.kind = Kind::kColumn, .counter_id = id});
  }
  end_selector();
}

const SeriesRole* EngineQuestion::Find(absl::string_view schema,
                                       absl::string_view metric) const {
  const auto found = roles_.find(absl::StrCat(schema, metric));
  return found != roles_.end() ? &found->second : nullptr;
}

}  // namespace fleetperf::aggregator
