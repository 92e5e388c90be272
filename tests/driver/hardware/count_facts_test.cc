// Holds the readers of both systems, and docs/tasks/hardware.md, against the
// table of facts; and the facts against Linux' lists of events and its maps of
// generic events, which event_lists.tsv has.

#include "driver/hardware/count_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/source/hardware_table.h"
#include "driver/hardware/driver_reader.h"
#include "driver/hardware/linux/perf_event_reader.h"
#include "driver/perf_event/simulation/simulated_system.h"
#include "driver/pmc/pcm_table.h"
#include "tests/driver/hardware/in_process_device.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::hardware {
namespace {

using enum HardwareCount;
using ::testing::IsEmpty;

using Names = std::map<HardwareCount, std::string>;

// The events of a reader.
Names EventsOf(const HardwareReader& reader) {
  Names events;
  for (const CountedEvent& event : reader.events()) {
    EXPECT_TRUE(events.emplace(event.count, event.event).second) << event.event;
  }
  return events;
}

// Under Linux, on a CPU of the model that has all PMUs of both vendors.
Names OnLinux(const std::string& vendor, int family, int model) {
  perf_event::SimulatedSystem system({.hardware_counters = 16});
  system.SetFile(
      "/proc/cpuinfo",
      absl::StrCat("vendor_id\t: ", vendor, "\ncpu family\t: ", family,
                   "\nmodel\t\t: ", model, "\nstepping\t: 0\n"));
  const std::map<std::string, std::string> formats = {{"event", "config:0-7"},
                                                      {"umask", "config:8-15"}};
  const std::map<std::string, std::vector<std::string>> pmus = {
      {"cpu",
       {"slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound",
        "topdown-be-bound"}},
      {"amd_l3", {}},
      {"msr", {"aperf", "mperf", "tsc"}},
      {"power", {"energy-pkg", "energy-ram"}},
      {"uncore_imc_0", {"cas_count_read", "cas_count_write"}},
      {"uncore_imc_free_running_0", {"data_read", "data_write"}}};
  uint32_t type = 50;
  for (const auto& [pmu, events] : pmus) {
    if (pmu != "cpu") system.AddPmu(pmu, type++, formats);
    for (const std::string& event : events) {
      system.SetFile(absl::StrCat("/sys/bus/event_source/devices/", pmu,
                                  "/events/", event),
                     "event=0x01\n");
    }
  }
  return EventsOf(*MakePerfEventReader(system, 1000));
}

// Under Windows.
Names OnWindows(const pmu::CpuModel& model) {
  pmu::SimulatedMachine machine(model, 1);
  testing::InProcessPmu core(machine);
  const auto reader = MakeDriverReader(core.Open(), {});
  EXPECT_OK(reader);
  return reader.ok() ? EventsOf(**reader) : Names();
}

Names IceLakeOnLinux() { return OnLinux("GenuineIntel", 6, 0x7E); }
Names Zen2OnLinux() { return OnLinux("AuthenticAMD", 0x17, 0x31); }

// From the documents that CountGroup::source names.
TEST(CountFacts, AreCountedOnIntelUnderLinux) {
  EXPECT_EQ(IceLakeOnLinux(),
            (Names{{kInstructions, "instructions"},
                   {kCycles, "cpu-cycles"},
                   {kReferenceCycles, "ref-cycles"},
                   {kL3References, "cache-references"},
                   {kL3Misses, "cache-misses"},
                   {kL2Hits, "cpu/event=0xd1,umask=0x02/"},
                   {kL2Misses, "cpu/event=0xd1,umask=0x10/"},
                   {kBranches, "branch-instructions"},
                   {kBranchMisses, "branch-misses"},
                   {kL1Loads, "cpu/event=0xd0,umask=0x81/"},
                   {kL1Misses, "cpu/event=0xd1,umask=0x08/"},
                   {kSlots, "cpu/slots/"},
                   {kRetiring, "cpu/topdown-retiring/"},
                   {kBadSpeculation, "cpu/topdown-bad-spec/"},
                   {kFrontendBound, "cpu/topdown-fe-bound/"},
                   {kBackendBound, "cpu/topdown-be-bound/"},
                   {kPackageMicrojoules, "power/energy-pkg/"},
                   {kMemoryMicrojoules, "power/energy-ram/"},
                   {kMemoryReadBytes, "uncore_imc/cas_count_read/"},
                   {kMemoryWriteBytes, "uncore_imc/cas_count_write/"}}));
}

TEST(CountFacts, AreCountedOnIntelUnderWindows) {
  EXPECT_EQ(OnWindows(pmu::IceLake()),
            (Names{{kInstructions, "INST_RETIRED.ANY"},
                   {kCycles, "CPU_CLK_UNHALTED.THREAD"},
                   {kReferenceCycles, "CPU_CLK_UNHALTED.REF_TSC"},
                   {kL3References, "LONGEST_LAT_CACHE.REFERENCE"},
                   {kL3Misses, "LONGEST_LAT_CACHE.MISS"},
                   {kL2Hits, "MEM_LOAD_RETIRED.L2_HIT"},
                   {kL2Misses, "MEM_LOAD_RETIRED.L2_MISS"},
                   {kBranches, "BR_INST_RETIRED.ALL_BRANCHES"},
                   {kBranchMisses, "BR_MISP_RETIRED.ALL_BRANCHES"},
                   {kL1Loads, "MEM_INST_RETIRED.ALL_LOADS"},
                   {kL1Misses, "MEM_LOAD_RETIRED.L1_MISS"}}));
}

TEST(CountFacts, AreCountedOnAmdUnderLinux) {
  EXPECT_EQ(Zen2OnLinux(),
            (Names{{kInstructions, "instructions"},
                   {kCycles, "cpu-cycles"},
                   {kReferenceCycles, "msr/mperf/"},
                   {kL3References, "amd_l3/event=0x04,umask=0xff/"},
                   {kL3Misses, "amd_l3/event=0x04,umask=0x01/"},
                   {kL2Hits, "cpu/event=0x64,umask=0x70/"},
                   {kL2Misses, "cpu/event=0x64,umask=0x08/"},
                   {kBranches, "branch-instructions"},
                   {kBranchMisses, "branch-misses"},
                   {kL1Loads, "cpu/event=0x29,umask=0x01/"},
                   {kL1Misses, "cpu/event=0x41,umask=0x01/"},
                   {kPackageMicrojoules, "power/energy-pkg/"}}));
}

// Six counters: no room for the first level.
TEST(CountFacts, AreCountedOnAmdUnderWindows) {
  EXPECT_EQ(OnWindows(pmu::Zen2()),
            (Names{{kInstructions, "ex_ret_instr"},
                   {kCycles, "ls_not_halted_cyc"},
                   {kReferenceCycles, "MPERF"},
                   {kL2Hits, "l2_cache_hits_from_dc_misses"},
                   {kL2Misses, "l2_cache_misses_from_dc_misses"},
                   {kBranches, "ex_ret_brn"},
                   {kBranchMisses, "ex_ret_brn_misp"}}));
}

// One count has one meaning: what Linux counts has the number of what Windows
// counts.

std::vector<std::vector<std::string>> Lists() {
  std::vector<std::vector<std::string>> rows;
  std::ifstream file(EVENT_LISTS);
  for (std::string line; std::getline(file, line);) {
    rows.push_back(absl::StrSplit(line, '\t'));
  }
  return rows;
}

// The number in an event selection: unit mask and event. 0x0300 is the kernel's
// number for Intel's third fixed counter.
uint64_t NumberOnLinux(const std::string& event, const std::string& map) {
  uint64_t code = 0;
  uint64_t mask = 0;
  const size_t at = event.find("event=0x");
  if (at != std::string::npos) {
    EXPECT_TRUE(absl::SimpleHexAtoi(event.substr(at + 8, 2), &code)) << event;
    EXPECT_TRUE(absl::SimpleHexAtoi(event.substr(event.find("umask=0x") + 8, 2),
                                    &mask));
    return mask << 8 | code;
  }
  std::string generic = absl::StrJoin(absl::StrSplit(event, '-'), "_");
  if (generic == "ref_cycles") generic = "ref_cpu_cycles";
  for (const auto& row : Lists()) {
    if (row[0] == "kernel" && row[1] == map && row[2] == generic) {
      EXPECT_TRUE(absl::SimpleHexAtoi(row[3], &code));
    }
  }
  return code;
}

uint64_t NumberOnWindows(const std::string& event, const std::string& list) {
  const std::map<std::string, uint64_t> fixed = {
      {"INST_RETIRED.ANY", 0x00C0},
      {"CPU_CLK_UNHALTED.THREAD", 0x003C},
      {"CPU_CLK_UNHALTED.REF_TSC", 0x0300}};
  if (const auto found = fixed.find(event); found != fixed.end()) {
    return found->second;
  }
  // Some lists lack some of them; events_test holds them against the others.
  for (const events::ArchitecturalEvent& one : events::ArchitecturalEvents()) {
    if (event == one.event.name) {
      return uint64_t{one.event.code.unit_mask} << 8 | one.event.code.event;
    }
  }
  uint64_t code = 0;
  uint64_t mask = 0;
  for (const auto& row : Lists()) {
    if (row[0] == "event" && row[1] == list && row[2].empty() &&
        row[3] == event) {
      EXPECT_TRUE(absl::SimpleHexAtoi(row[4], &code));
      EXPECT_TRUE(absl::SimpleHexAtoi(row[5], &mask));
    }
  }
  return mask << 8 | code;
}

void ExpectOneMeaning(const Names& on_linux, const std::string& map,
                      const Names& on_windows, const std::string& list) {
  for (const auto& [count, event] : on_windows) {
    if (event == "MPERF") {
      EXPECT_EQ(on_linux.at(count), "msr/mperf/");
      continue;
    }
    const uint64_t number = NumberOnWindows(event, list);
    EXPECT_NE(number, 0u) << event;
    EXPECT_EQ(NumberOnLinux(on_linux.at(count), map), number)
        << NameOf(count) << ": " << on_linux.at(count) << " and " << event;
  }
}

TEST(CountFacts, HaveOneMeaningOnIntel) {
  ExpectOneMeaning(IceLakeOnLinux(), "intel_perfmon_event_map",
                   OnWindows(pmu::IceLake()), "icelake");
}

TEST(CountFacts, HaveOneMeaningOnAmd) {
  ExpectOneMeaning(Zen2OnLinux(), "amd_zen2_perfmon_event_map",
                   OnWindows(pmu::Zen2()), "amdzen2");
}

// Why AMD's third level is not counted by the kernel's generic events: their
// numbers are requests to the second level, and misses there.
TEST(CountFacts, GenericCacheEventsOfAmdAreOfTheSecondLevel) {
  for (const char* map :
       {"amd_zen1_perfmon_event_map", "amd_zen2_perfmon_event_map",
        "amd_zen4_perfmon_event_map"}) {
    EXPECT_EQ(NumberOnLinux("cache-references", map), 0xFF60u);
    EXPECT_EQ(NumberOnLinux("cache-misses", map), 0x0964u);
  }
  EXPECT_EQ(NumberOnWindows("l2_cache_req_stat.ic_dc_miss_in_l2", "amdzen2"),
            0x0964u);
  for (const CountGroup& group : CountGroups()) {
    for (const CountFact& fact : group.facts) {
      if (fact.count != kL3References && fact.count != kL3Misses) continue;
      EXPECT_EQ(fact.On(Platform::kAmdLinux).kind, Origin::Kind::kL3Event);
    }
  }
}

// Zen 1 to 3 have no generic reference cycles.
TEST(CountFacts, KernelMapsReferenceCyclesOfAmdOnZen4Only) {
  EXPECT_EQ(NumberOnLinux("ref-cycles", "amd_zen1_perfmon_event_map"), 0u);
  EXPECT_EQ(NumberOnLinux("ref-cycles", "amd_zen2_perfmon_event_map"), 0u);
  EXPECT_EQ(NumberOnLinux("ref-cycles", "amd_zen4_perfmon_event_map"),
            0x100000120u);
}

TEST(CountFacts, NameTheirSources) {
  for (const CountGroup& group : CountGroups()) {
    EXPECT_STRNE(group.source, "");
  }
}

// The page.

std::string Page() {
  std::ifstream file(HARDWARE_PAGE);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str(), "") << HARDWARE_PAGE;
  return text.str();
}

// The cells of the table whose first heading is `heading`.
std::vector<std::vector<std::string>> TableOf(const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  bool is_inside = false;
  for (const absl::string_view line : absl::StrSplit(Page(), '\n')) {
    if (absl::StartsWith(line, absl::StrCat("| ", heading, " |"))) {
      is_inside = true;
      continue;
    }
    if (is_inside && !absl::StartsWith(line, "|")) break;
    if (!is_inside || absl::StartsWith(line, "|--")) continue;
    std::vector<std::string> cells;
    for (const absl::string_view cell :
         absl::StrSplit(line.substr(1, line.size() - 2), '|')) {
      cells.emplace_back(absl::StripAsciiWhitespace(cell));
    }
    rows.push_back(std::move(cells));
  }
  EXPECT_FALSE(rows.empty()) << heading;
  return rows;
}

bool IsOf(const events::ModelEvents& model, Platform platform) {
  const bool is_intel =
      platform == Platform::kIntelLinux || platform == Platform::kIntelWindows;
  return model.vendor == (is_intel ? pmu::Vendor::kIntel : pmu::Vendor::kAmd);
}

bool Counts(std::span<const events::Event> events, const CountFact& fact) {
  return std::any_of(events.begin(), events.end(), [&](const events::Event& e) {
    return e.counted == fact.counted;
  });
}

// The codes of a fact on all models that count its group.
std::string CodesText(const CountGroup& group, const CountFact& fact,
                      Platform platform) {
  const bool is_l3 = fact.On(platform).kind == Origin::Kind::kL3Event;
  std::set<std::string> codes;
  for (const events::ArchitecturalEvent& one : events::ArchitecturalEvents()) {
    if (one.event.counted == fact.counted &&
        platform == Platform::kIntelWindows) {
      codes.insert(events::CodeText(one.event.code));
    }
  }
  for (const events::ModelEvents& model : events::AllModelEvents()) {
    const auto events = is_l3 ? model.l3_events : model.events;
    if (!IsOf(model, platform) ||
        (group.is_all_or_none &&
         !std::all_of(
             group.facts.begin(), group.facts.end(),
             [&](const CountFact& other) { return Counts(events, other); }))) {
      continue;
    }
    for (const events::Event& event : events) {
      if (event.counted == fact.counted) {
        codes.insert(events::CodeText(event.code));
      }
    }
  }
  return absl::StrCat(is_l3 ? "`amd_l3` " : "", absl::StrJoin(codes, ", "));
}

std::string TextOf(const Origin& origin, const CountGroup& group,
                   const CountFact& fact, Platform platform) {
  switch (origin.kind) {
    case Origin::Kind::kNone:
      return "";
    case Origin::Kind::kFixed:
      return absl::StrCat("fixed counter ", origin.counter);
    case Origin::Kind::kCoreEvent:
    case Origin::Kind::kL3Event:
      return CodesText(group, fact, platform);
    default:
      return absl::StrCat("`", origin.name, "`");
  }
}

// Each row of the table of events, by the name of the count.
std::map<std::string, std::vector<std::string>> ExpectedRows() {
  std::map<std::string, std::vector<std::string>> rows;
  for (const CountGroup& group : CountGroups()) {
    for (const CountFact& fact : group.facts) {
      auto& cells = rows[std::string(NameOf(fact.count))];
      cells.resize(kNumPlatforms);
      for (size_t i = 0; i < kNumPlatforms; ++i) {
        const auto platform = static_cast<Platform>(i);
        const std::string text =
            TextOf(fact.On(platform), group, fact, platform);
        if (text.empty()) continue;
        absl::StrAppend(&cells[i], cells[i].empty() ? "" : ", else ", text);
      }
    }
  }
  for (const GaugeFact& gauge : GaugeFacts()) {
    for (const Origin& origin : gauge.origins) {
      const bool is_none = origin.kind == Origin::Kind::kNone;
      rows[gauge.name].push_back(is_none ? ""
                                         : absl::StrCat("`", origin.name, "`"));
    }
  }
  return rows;
}

TEST(HardwarePage, NamesTheEventsOfTheFacts) {
  auto expected = ExpectedRows();
  for (std::vector<std::string> cells : TableOf("count")) {
    const std::string count = cells.front();
    cells.erase(cells.begin());
    ASSERT_TRUE(expected.contains(count)) << count;
    EXPECT_EQ(cells, expected.at(count)) << count;
    expected.erase(count);
  }
  for (const auto& [count, cells] : expected) {
    ADD_FAILURE() << "missing: | " << count << " | "
                  << absl::StrJoin(cells, " | ") << " |";
  }
}

// Every count is a fact, or follows from facts and the system.
TEST(HardwarePage, HasAllCounts) {
  const auto rows = ExpectedRows();
  std::vector<std::string> others;
  for (size_t i = 0; i < kNumHardwareCounts; ++i) {
    const std::string name(NameOf(static_cast<HardwareCount>(i)));
    if (!rows.contains(name)) others.push_back(name);
  }
  EXPECT_THAT(others, ::testing::ElementsAre("L3 instructions", "time enabled",
                                             "time running"));
}

// Counters and columns, in the first cells of their tables.
std::set<std::string> NamesIn(const std::string& heading) {
  std::set<std::string> names;
  for (const auto& cells : TableOf(heading)) {
    for (const absl::string_view name : absl::StrSplit(cells.front(), ", ")) {
      EXPECT_TRUE(names.emplace(name).second) << name;
    }
  }
  return names;
}

TEST(HardwarePage, HasAllCountersAndColumns) {
  std::set<std::string> counters = NamesIn("counter");
  for (const auto& counter : agent::HardwareRegistration().counters) {
    if (counter.name.empty()) continue;
    EXPECT_EQ(counters.erase(counter.name), 1u) << counter.name;
  }
  EXPECT_THAT(counters, IsEmpty());
  std::set<std::string> columns = NamesIn("column");
  for (const pmc::PcmColumn& column : pmc::PcmColumns()) {
    EXPECT_EQ(columns.erase(column.title), 1u) << column.title;
  }
  EXPECT_THAT(columns, IsEmpty());
}

}  // namespace
}  // namespace fleetperf::hardware
