#include "driver/perf_event/event_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/driver/perf_event/file_system.h"

namespace fleetperf::perf_event {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FileSystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kOnlyUser = flag::kExcludeKernel | flag::kExcludeHypervisor;
constexpr uint64_t kAllModes = flag::kExcludeUser | kOnlyUser;

// A machine with a core PMU, an uncore PMU and tracepoints.
FileSystem MachineWithCore() {
  const std::string devices = "/sys/bus/event_source/devices/";
  return FileSystem({
      {devices + "cpu/type", "4\n"},
      {devices + "cpu/caps/max_precise", "3\n"},
      {devices + "cpu/format/event", "config:0-7\n"},
      {devices + "cpu/format/umask", "config:8-15\n"},
      {devices + "cpu/events/mem-loads", "event=0xcd,umask=0x1\n"},
      {devices + "msr/type", "10\n"},
      {devices + "msr/format/event", "config:0-63\n"},
      {devices + "msr/events/smi", "event=0x04\n"},
      {devices + "uprobe/type", "8\n"},
      {"/sys/kernel/tracing/events/sched/sched_switch/id", "314\n"},
  });
}

absl::StatusOr<Event> Parse(const std::string& text) {
  FileSystem system = MachineWithCore();
  return ParseEvent(text, system);
}

// Types and numbers are those of perf_event_open(2), aliases those that
// perf-list(1) shows as "cpu-cycles OR cycles".
TEST(EventParserTest, FixedNames) {
  struct Case {
    const char* text;
    uint32_t type;
    uint64_t config;
    const char* canonical;
  };
  const Case cases[] = {
      {"cycles", 0, 0, "cpu-cycles"},
      {"cpu-cycles", 0, 0, "cpu-cycles"},
      {"instructions", 0, 1, "instructions"},
      {"cache-references", 0, 2, "cache-references"},
      {"cache-misses", 0, 3, "cache-misses"},
      {"branches", 0, 4, "branch-instructions"},
      {"branch-instructions", 0, 4, "branch-instructions"},
      {"branch-misses", 0, 5, "branch-misses"},
      {"bus-cycles", 0, 6, "bus-cycles"},
      {"idle-cycles-frontend", 0, 7, "stalled-cycles-frontend"},
      {"stalled-cycles-backend", 0, 8, "stalled-cycles-backend"},
      {"ref-cycles", 0, 9, "ref-cycles"},
      {"cpu-clock", 1, 0, "cpu-clock"},
      {"task-clock", 1, 1, "task-clock"},
      {"faults", 1, 2, "page-faults"},
      {"page-faults", 1, 2, "page-faults"},
      {"cs", 1, 3, "context-switches"},
      {"migrations", 1, 4, "cpu-migrations"},
      {"minor-faults", 1, 5, "minor-faults"},
      {"major-faults", 1, 6, "major-faults"},
      {"alignment-faults", 1, 7, "alignment-faults"},
      {"emulation-faults", 1, 8, "emulation-faults"},
      {"dummy", 1, 9, "dummy"},
      {"bpf-output", 1, 10, "bpf-output"},
      {"cgroup-switches", 1, 11, "cgroup-switches"},
      {"L1-dcache-loads", 3, 0, "L1-dcache-loads"},
      {"L1-dcache-load-misses", 3, 0x10000, "L1-dcache-load-misses"},
      {"L1-dcache-stores", 3, 0x100, "L1-dcache-stores"},
      {"L1-icache-load-misses", 3, 0x10001, "L1-icache-load-misses"},
      {"LLC-loads", 3, 2, "LLC-loads"},
      {"LLC-prefetch-misses", 3, 0x10202, "LLC-prefetch-misses"},
      {"llc-misses-read", 3, 0x10002, "LLC-load-misses"},
      {"dTLB-store-misses", 3, 0x10103, "dTLB-store-misses"},
      {"iTLB-load-misses", 3, 0x10004, "iTLB-load-misses"},
      {"branch-loads", 3, 5, "branch-loads"},
      {"branch-load-misses", 3, 0x10005, "branch-load-misses"},
      {"node-prefetches", 3, 0x206, "node-prefetches"},
      {"l1d-speculative-read-miss", 3, 0x10200, "L1-dcache-prefetch-misses"},
      {"r1a8", 4, 0x1a8, "r1a8"},
      {"r01A8", 4, 0x1a8, "r1a8"},
  };
  for (const Case& c : cases) {
    const absl::StatusOr<Event> event = Parse(c.text);
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->type, c.type) << c.text;
    EXPECT_EQ(event->config, c.config) << c.text;
    EXPECT_EQ(event->name, c.canonical);
  }
}

TEST(EventParserTest, Breakpoints) {
  struct Case {
    const char* text;
    uint64_t length;
    uint32_t access;
    const char* canonical;
  };
  const Case cases[] = {
      {"mem:0x1F00", 4, 3, "mem:0x1f00/4:rw"},
      {"mem:7936/8:w", 8, 2, "mem:0x1f00/8:w"},
      {"mem:0x1f00/1:wr", 1, 3, "mem:0x1f00/1:rw"},
      {"mem:0x1f00:r", 4, 1, "mem:0x1f00/4:r"},
      {"mem:0x1f00:x", sizeof(void*), 4, "mem:0x1f00/8:x"},
      {"mem:0x1f00:u", 4, 3, "mem:0x1f00/4:rw:u"},
      {"mem:0x1f00/2:w:ku", 2, 2, "mem:0x1f00/2:w:uk"},
  };
  for (const Case& c : cases) {
    const absl::StatusOr<Event> event = Parse(c.text);
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->type, 5u);
    EXPECT_EQ(event->config1, 0x1f00u);
    EXPECT_EQ(event->config2, c.length) << c.text;
    EXPECT_EQ(event->breakpoint_type, c.access) << c.text;
    EXPECT_EQ(event->name, c.canonical);
  }
}

TEST(EventParserTest, EventsOfPmus) {
  const absl::StatusOr<Event> terms = Parse("cpu/umask=1,event=60/");
  ASSERT_TRUE(terms.ok()) << terms.status();
  EXPECT_EQ(terms->type, 4u);
  EXPECT_EQ(terms->config, 0x13cu);
  EXPECT_EQ(terms->flags, 0u);
  EXPECT_EQ(terms->name, "cpu/event=0x3c,umask=0x1/");
  const absl::StatusOr<Event> alias = Parse("msr/smi/");
  ASSERT_TRUE(alias.ok()) << alias.status();
  EXPECT_EQ(alias->type, 10u);
  EXPECT_EQ(alias->config, 4u);
  EXPECT_EQ(alias->flags, 0u);
  EXPECT_EQ(alias->name, "msr/smi/");
  EXPECT_EQ(Parse("cpu//")->config, 0u);
}

TEST(EventParserTest, NamesOfPmusEventsNeedNoPmu) {
  const absl::StatusOr<Event> event = Parse("mem-loads:u");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, 4u);
  EXPECT_EQ(event->config, 0x1cdu);
  EXPECT_EQ(event->name, "mem-loads:u");
}

TEST(EventParserTest, NamesOfSeveralPmusEventsNeedThePmu) {
  FileSystem system = MachineWithCore();
  system.Write("/sys/bus/event_source/devices/msr/events/mem-loads", "event=1");
  const absl::StatusOr<Event> event = ParseEvent("mem-loads", system);
  EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(event.status().message(),
              HasSubstr("cpu/mem-loads/ or msr/mem-loads/"));
}

// A hybrid CPU, as the kernel describes it: the type of the core PMU is in the
// upper half of config (PERF_PMU_TYPE_SHIFT).
TEST(EventParserTest, HybridCpusHaveAnEventForEachCorePmu) {
  const std::string devices = "/sys/bus/event_source/devices/";
  FileSystem system({{devices + "cpu_core/type", "4\n"},
                     {devices + "cpu_core/cpus", "0-15\n"},
                     {devices + "cpu_atom/type", "10\n"},
                     {devices + "cpu_atom/cpus", "16-17\n"},
                     {devices + "power/type", "11\n"}});
  const absl::StatusOr<std::vector<Event>> cycles =
      ParseEvents("cycles:u", system);
  ASSERT_TRUE(cycles.ok()) << cycles.status();
  ASSERT_EQ(cycles->size(), 2u);
  EXPECT_EQ((*cycles)[0].type, 0u);
  EXPECT_EQ((*cycles)[0].config, 0xa00000000u);
  EXPECT_THAT((*cycles)[0].cpus, ElementsAre(16, 17));
  EXPECT_EQ((*cycles)[0].name, "cpu-cycles:u");
  EXPECT_EQ((*cycles)[1].config, 0x400000000u);
  const absl::StatusOr<std::vector<Event>> raw = ParseEvents("r1a8", system);
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ((*raw)[0].type, 10u);
  EXPECT_EQ((*raw)[0].config, 0x1a8u);
  EXPECT_EQ(ParseEvents("page-faults", system)->size(), 1u);
  EXPECT_EQ(ParseEvent("cycles", system)->config, 0u);
}

TEST(EventParserTest, NumberedPmusHaveOneEventEach) {
  FileSystem system;
  for (const char* name : {"imc_0", "imc_1", "imc_free", "cpum_cf"}) {
    const std::string device =
        absl::StrCat("/sys/bus/event_source/devices/", name);
    system.Write(device + "/type", "20\n");
    system.Write(device + "/cpumask", "0,8\n");
    system.Write(device + "/format/event", "config:0-7\n");
    system.Write(device + "/events/reads", "event=4\n");
  }
  const absl::StatusOr<std::vector<Event>> reads =
      ParseEvents("imc/reads/", system);
  ASSERT_TRUE(reads.ok()) << reads.status();
  ASSERT_EQ(reads->size(), 2u);
  for (const Event& event : *reads) {
    EXPECT_EQ(event.config, 4u);
    EXPECT_EQ(event.name, "imc/reads/");
    EXPECT_THAT(event.cpus, ElementsAre(0, 8));
  }
  EXPECT_EQ(ParseEvents("imc_1/reads/", system)->size(), 1u);
  EXPECT_EQ(ParseEvents("reads", system)->size(), 4u);
  EXPECT_EQ(ParseEvents("cpum/reads/", system).status().code(),
            absl::StatusCode::kNotFound);
  const absl::Status one = ParseEvent("imc/reads/", system).status();
  EXPECT_EQ(one.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(one.message(), HasSubstr("imc_0/reads/ or imc_1/reads/"));
}

TEST(EventParserTest, ListedEventsShowTheirParameters) {
  const std::string device = "/sys/bus/event_source/devices/hv/";
  FileSystem system({{device + "type", "9\n"},
                     {device + "events/cycles", "domain=1,core=?,lpar=?\n"}});
  EXPECT_THAT(*ListEvents(system), Contains("hv/cycles,core=?,lpar=?/"));
}

TEST(EventParserTest, Tracepoints) {
  const absl::StatusOr<Event> event = Parse("sched:sched_switch");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, 2u);
  EXPECT_EQ(event->config, 314u);
  EXPECT_EQ(event->flags, 0u);
  EXPECT_EQ(event->name, "sched:sched_switch");
  EXPECT_EQ(Parse("sched:sched_switch:k")->flags,
            flag::kExcludeUser | flag::kExcludeHypervisor);
}

TEST(EventParserTest, ModifiersSetFlags) {
  const uint64_t precise = 1 << flag::kPreciseIpShift;
  const std::pair<const char*, uint64_t> cases[] = {
      {"instructions", 0},
      {"instructions:u", kOnlyUser},
      {"instructions:k", kAllModes & ~flag::kExcludeKernel},
      {"instructions:h", kAllModes & ~flag::kExcludeHypervisor},
      {"instructions:uk", flag::kExcludeHypervisor},
      {"instructions:ukh", 0},
      {"instructions:G", flag::kExcludeHost},
      {"instructions:H", flag::kExcludeGuest},
      {"instructions:GH", 0},
      {"instructions:I", flag::kExcludeIdle},
      {"instructions:p", precise | flag::kExcludeGuest},
      {"instructions:ppp", 3 * precise | flag::kExcludeGuest},
      {"instructions:P", 3 * precise | flag::kExcludeGuest},
      {"instructions:ppGH", 2 * precise},
      {"instructions:D", flag::kPinned},
      {"instructions:e", flag::kExclusive},
      {"cpu/event=1/uk", flag::kExcludeHypervisor},
      {"cpu/event=1/:uk", flag::kExcludeHypervisor},
      {"cpu/event=1/P", 3 * precise | flag::kExcludeGuest},
      {"msr/smi/P", 0},
      {"cs", 0},
      {"cs:k", flag::kExcludeUser | flag::kExcludeHypervisor},
  };
  for (const auto& [text, flags] : cases) {
    const absl::StatusOr<Event> event = Parse(text);
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->flags, flags) << text;
  }
}

TEST(EventParserTest, CanonicalTexts) {
  const std::pair<const char*, const char*> cases[] = {
      {"cycles:kppu", "cpu-cycles:ukpp"},
      {"cycles:eDPHGIhku", "cpu-cycles:ukhIGHPDe"},
      {" cycles\n", "cpu-cycles"},
      {"pmu/b=1,a=0x0A, c /k", "pmu/a=0xa,b=0x1,c/k"},
      {"pmu//", "pmu//"},
      {"pmu/name,/:u", "pmu/name/u"},
      {"absent-event", "absent-event"},
      {"group:event:ku", "group:event:uk"},
      {"event:u", "event:u"},
  };
  for (const auto& [text, canonical] : cases) {
    const absl::StatusOr<std::string> result = CanonicalEventText(text);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, canonical);
    EXPECT_EQ(*CanonicalEventText(*result), canonical);
  }
}

// Otherwise the canonical text of a canonical text would be an error.
TEST(EventParserTest, CanonicalTextsAreNotTooLongEither) {
  std::string text = "pmu/";
  for (int i = 0; i < 500; ++i) absl::StrAppend(&text, "a", i, "=9,");
  EXPECT_LT(text.size(), 4096u);
  EXPECT_EQ(CanonicalEventText(text + "/").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(EventParserTest, MistakesAreNamed) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "\"\" is no event"},
      {"cycles:x", "unknown modifier \"x\""},
      {"cycles:S", "modifier \"S\""},
      {"cycles:uu", "modifier \"u\" is given too often"},
      {"cycles:pppp", "modifier \"p\" is given too often"},
      {"cycles:", "after the colon"},
      {"cycles:u:k", "unknown modifier \":\""},
      {"cycles,instructions", "\"cycles,instructions\" is no event"},
      {"{cycles}", "\"{cycles}\" is no event"},
      {"sched:*", "\"*\" is no name of a tracepoint"},
      {"cpu/event=1", "no end"},
      {"cpu/event=1/x", "unknown modifier \"x\""},
      {"cpu/event=?/", "\"event\""},
      {"cpu/event=1,event=2/", "\"event\" is given twice"},
      {"../event=1/", "\"..\" cannot be the name of a PMU"},
      {"cpu/event=256/", "\"event\" to 0x100"},
      {"mem:", "\"\" is no address"},
      {"mem:x", "\"x\" is no address"},
      {"mem:0x10/3", "\"3\" is no length"},
      {"mem:0x10:rx", "\"rx\" is no access"},
      {"mem:0x10:", "\"\" is no access"},
      {"mem:0x10:w:", "after the colon"},
      {std::string(5000, 'a'), "5000 bytes"},
      {std::string("a\0b", 3), "\\x00"},
  };
  for (const auto& [text, message] : cases) {
    const absl::StatusOr<Event> event = Parse(text);
    EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    EXPECT_THAT(event.status().message(), HasSubstr(message));
    EXPECT_THAT(event.status().message(), HasSubstr("the event \""));
    EXPECT_LT(event.status().message().size(), 2000u);
  }
}

TEST(EventParserTest, AbsentThingsAreNotFound) {
  const std::pair<std::string, const char*> cases[] = {
      {"cycels", "did you mean \"cycles\""},
      {"mem-load", "did you mean \"mem-loads\""},
      {"cpuu/event=1/", "did you mean \"cpu\""},
      {"cpu/mem_loads/", "did you mean \"mem-loads\""},
      {"sched:sched_swich", "did you mean \"sched_switch\""},
      {"shced:sched_switch", "did you mean \"sched\""},
      // The kernel counts no writes to instructions.
      {"L1-icache-stores", "no such event"},
      {"r10000000000000000", "no such event"},
  };
  for (const auto& [text, message] : cases) {
    const absl::StatusOr<Event> event = Parse(text);
    EXPECT_EQ(event.status().code(), absl::StatusCode::kNotFound) << text;
    EXPECT_THAT(event.status().message(), HasSubstr(message));
    EXPECT_THAT(event.status().message(), HasSubstr("\"" + text + "\""));
  }
}

// A name must not contain an address of this process.
TEST(EventParserTest, ProbesHaveNoNames) {
  EXPECT_EQ(Parse("uprobe/config1=0x1000/").status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST(EventParserTest, ListsWhatTheMachineHas) {
  FileSystem system = MachineWithCore();
  const auto names = *ListEvents(system);
  for (const char* name : {"cpu-cycles", "page-faults", "LLC-load-misses",
                           "cpu/mem-loads/", "msr/smi/"}) {
    EXPECT_THAT(names, Contains(name));
  }
  for (const std::string& name : names) {
    const absl::StatusOr<Event> event = ParseEvent(name, system);
    ASSERT_TRUE(event.ok()) << event.status();
    EXPECT_EQ(event->name, name);
  }
}

TEST(EventParserTest, ListsNoHardwareEventsWithoutACorePmu) {
  FileSystem system;
  const auto names = *ListEvents(system);
  EXPECT_THAT(names, Contains("page-faults"));
  EXPECT_THAT(names, Not(Contains("cpu-cycles")));
}

}  // namespace
}  // namespace fleetperf::perf_event
