#include "aggregator/export/metric_names.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "aggregator/export/raw_names.h"
#include "perflib/counter_type.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr uint32_t kRaw = perflib::kPerfCounterLargeRawcount;
constexpr uint32_t kRate = perflib::kPerfCounterBulkCount;

perflib::CountersetRegistration Counterset(
    const std::string& name,
    std::vector<perflib::CounterRegistration> counters) {
  perflib::CountersetRegistration counterset;
  counterset.name = name;
  counterset.counters = std::move(counters);
  return counterset;
}

Metric MetricOf(const std::string& counterset, const std::string& counter,
                uint32_t type) {
  return MetricsOf(Counterset(counterset, {{.type = type, .name = counter}}))
      .front();
}

// Returns the rows of the tables of a page whose first cell begins with
// `start`, without the marks of code.
std::vector<std::vector<std::string>> RowsOf(const std::string& page,
                                             const std::string& start) {
  std::ifstream file(FLEETPERF_ROOT "/docs/reference/" + page);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "| " + start)) continue;
    line.erase(std::remove(line.begin(), line.end(), '`'), line.end());
    rows.push_back(absl::StrSplit(line.substr(2, line.size() - 4), " | "));
  }
  return rows;
}

TEST(MetricsOf, NamesCountersAsTheReferencePageSays) {
  const auto rows = RowsOf("prometheus-names.md", "`\\");
  ASSERT_GE(rows.size(), 20u);
  for (const std::vector<std::string>& row : rows) {
    ASSERT_EQ(row.size(), 4u) << row[0];
    const std::vector<std::string> path = absl::StrSplit(row[0], '\\');
    ASSERT_EQ(path.size(), 3u) << row[0];
    const perflib::CounterTypeInfo* type =
        perflib::FindCounterTypeByName(row[1]);
    ASSERT_NE(type, nullptr) << row[1];
    const Metric metric = MetricOf(path[1], path[2], type->type);
    EXPECT_EQ(metric.name, row[2]) << row[0];
    double factor = 1;
    ASSERT_TRUE(absl::SimpleAtod(row[3], &factor));
    EXPECT_EQ(metric.factor, factor) << row[0];
  }
}

// Returns all countersets of an agent on Linux, which the page has.
std::vector<perflib::CountersetRegistration> LinuxCountersets() {
  std::ifstream file(FLEETPERF_ROOT "/docs/reference/linux-counters.md");
  const std::regex row(R"(\| (.+?) \| (\d+) \| (\w+) \| .*)");
  std::vector<perflib::CountersetRegistration> countersets;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (absl::StartsWith(line, "## ")) {
      countersets.push_back(Counterset(line.substr(3), {}));
    } else if (std::regex_match(line, match, row)) {
      countersets.back().counters.push_back(
          {.counter_id = static_cast<uint32_t>(std::stoul(match[2])),
           .type = perflib::FindCounterTypeByName(match[3].str())->type,
           .name = match[1]});
    }
  }
  return countersets;
}

// Returns fleetperf's own countersets. The page has no types, but the units are
// in the names.
std::vector<perflib::CountersetRegistration> OwnCountersets() {
  std::vector<perflib::CountersetRegistration> countersets;
  for (const auto& row : RowsOf("counters.md", "fleetperf A")) {
    auto& counterset = countersets.emplace_back(Counterset(row[0], {}));
    for (size_t cell = 1; cell < row.size(); ++cell) {
      for (const absl::string_view name : absl::StrSplit(row[cell], ", ")) {
        counterset.counters.push_back(
            {.counter_id = static_cast<uint32_t>(counterset.counters.size()),
             .type = kRaw,
             .name = std::string(name)});
      }
    }
  }
  return countersets;
}

TEST(MetricsOf, DiffersForAllCountersOnLinux) {
  const std::regex valid("fleetperf(_[a-z0-9]+)+");
  std::map<std::string, std::string> paths;  // by the metric's name
  for (const auto& counterset : LinuxCountersets()) {
    const std::vector<Metric> metrics = MetricsOf(counterset);
    const RawMetrics raw = RawMetricsOf(counterset);
    for (size_t i = 0; i < metrics.size(); ++i) {
      const std::string path =
          counterset.name + "\\" + counterset.counters[i].name;
      for (const std::string& name : {metrics[i].name, raw.counters[i]}) {
        EXPECT_TRUE(std::regex_match(name, valid)) << path;
        const auto [place, is_new] = paths.emplace(name, path);
        EXPECT_TRUE(is_new)
            << path << " and " << place->second << " are both " << name;
      }
    }
  }
  EXPECT_GT(paths.size(), 800u);
}

// Every metric that the dashboard, the rules and their tests name exists.
TEST(MetricsOf, YieldsTheNamesInDashboardAndRules) {
  std::set<std::string> known = {
      "fleetperf_machine_expected",           // of no counter
      "fleetperf_machine_info",               // of no counter
      "fleetperf_scrape_machines_left_out"};  // of the scrape itself
  for (const auto& countersets : {LinuxCountersets(), OwnCountersets()}) {
    for (const auto& counterset : countersets) {
      for (const Metric& metric : MetricsOf(counterset)) {
        known.insert(metric.name);
      }
      const std::vector<std::string> raw = RawMetricsOf(counterset).counters;
      known.insert(raw.begin(), raw.end());
    }
  }
  const std::regex name("fleetperf_[a-z0-9_]+");
  for (const char* path :
       {"deploy/grafana/fleetperf.json", "deploy/prometheus/rules.yaml",
        "docs/tasks/export.md", "tests/prometheus/rules_test.yaml"}) {
    std::ifstream file(std::string(FLEETPERF_ROOT "/") + path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    size_t count = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), name), end;
         match != end; ++match, ++count) {
      EXPECT_TRUE(known.contains(match->str()))
          << path << " names " << match->str();
    }
    EXPECT_GT(count, 0u) << path;
  }
}

TEST(MetricsOf, TellsCountersOfOneNameApart) {
  const auto metrics = MetricsOf(Counterset(
      "Memory", {{.counter_id = 9, .type = kRaw, .name = "a b"},
                 {.counter_id = 2, .type = kRaw, .name = "A-B"},
                 {.counter_id = 1, .type = kRaw, .name = "A KBytes"},
                 {.counter_id = 3, .type = kRaw, .name = "A Bytes"},
                 {.counter_id = 4, .type = kRaw, .name = "A B Id9"}}));
  std::vector<std::string> names;
  for (const Metric& metric : metrics) names.push_back(metric.name);
  EXPECT_THAT(
      names,
      ElementsAre("fleetperf_memory_a_b_id9_0", "fleetperf_memory_a_b",
                  "fleetperf_memory_a_bytes_id1", "fleetperf_memory_a_bytes",
                  "fleetperf_memory_a_b_id9"));
  EXPECT_EQ(metrics[2].factor, 1024);
  EXPECT_EQ(metrics[3].factor, 1);
}

TEST(MetricsOf, LeavesOutCountersWithoutValues) {
  for (const uint32_t type :
       {perflib::kPerfLargeRawBase, perflib::kPerfCounterText, 0x12345u}) {
    EXPECT_EQ(MetricOf("Disk", "Base", type).name, "");
  }
}

TEST(MetricsOf, MakesNamesOfAnyText) {
  EXPECT_EQ(MetricOf("Größe", "µ/sec", kRate).name,
            "fleetperf_gru00f6u00dfe_u00b5_per_second");
  EXPECT_EQ(MetricOf("", "", kRaw).name, "fleetperf_counterset_counter_0");
  EXPECT_EQ(MetricOf("\xFF", "\"}\n/", kRaw).name, "fleetperf_xff_counter_0");
  EXPECT_EQ(MetricOf("Set", "# of Locks & Waits", kRaw).name,
            "fleetperf_set_number_of_locks_and_waits");
}

TEST(MachineLabels, HaveValidNamesThatAreNotReserved) {
  EXPECT_THAT(MachineLabels("host-1", {{"role", "web"},
                                       {"Rack", "7"},
                                       {"rack.row", "a"},
                                       {"rack-row", "b"},
                                       {"rack_row", "c"},
                                       {"instance", "i"},
                                       {"job", "j"},
                                       {"machine", "m"},
                                       {"__name__", "n"},
                                       {"1st", "o"},
                                       {"größe", "p"},
                                       {"empty", ""}}),
              UnorderedElementsAre(
                  Pair("machine", "host-1"), Pair("role", "web"),
                  Pair("Rack", "7"), Pair("rack_row", "c"),
                  Pair("rack_row_2", "b"), Pair("rack_row_3", "a"),
                  Pair("machine_instance", "i"), Pair("machine_job", "j"),
                  Pair("machine_machine", "m"), Pair("machine___name__", "n"),
                  Pair("machine_1st", "o"), Pair("gru00f6u00dfe", "p")));
}

TEST(MachineLabels, AreThoseThatAreCopied) {
  const std::vector<std::string> copied = {"role", "rack-row", "missing"};
  EXPECT_THAT(
      MachineLabels("host-1",
                    {{"role", "web"}, {"rack-row", "b"}, {"rack_row", "c"}},
                    &copied),
      // As without a choice.
      UnorderedElementsAre(Pair("machine", "host-1"), Pair("role", "web"),
                           Pair("rack_row_2", "b")));
}

TEST(SeriesLabels, NameTheInstance) {
  const Labels machine = {{"machine", "host-1"}, {"role", "web"}};
  const Metric metric = {.name = "fleetperf_x"};
  EXPECT_THAT(SeriesLabels(machine, metric, std::nullopt, 0),
              ElementsAre(Pair("__name__", "fleetperf_x"),
                          Pair("machine", "host-1"), Pair("role", "web")));
  EXPECT_THAT(
      SeriesLabels(machine, metric, "C:\xFF", 2),
      ElementsAre(Pair("__name__", "fleetperf_x"), Pair("instance", "C:\uFFFD"),
                  Pair("instance_index", "2"), Pair("machine", "host-1"),
                  Pair("role", "web")));
}

}  // namespace
}  // namespace fleetperf::aggregator
