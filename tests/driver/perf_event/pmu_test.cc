#include "driver/perf_event/pmu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/driver/perf_event/file_system.h"

namespace fleetperf::perf_event {
namespace {

using ::testing::ElementsAre;
using testing::FileSystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kDevices[] = "/sys/bus/event_source/devices/";
constexpr uint64_t kUserOnly = flag::kExcludeKernel | flag::kExcludeHypervisor;

// Files of a PMU, named relative to its directory.
FileSystem MakePmu(const std::string& name, const FileSystem::Files& files) {
  FileSystem system;
  for (const auto& [file, text] : files) {
    system.Write(absl::StrCat(kDevices, name, "/", file), text);
  }
  return system;
}

// The format files are those of Linux on an AMD Zen CPU (event, umask, cmask)
// and on Intel (ldlat, edge, any).
FileSystem Core() {
  return MakePmu("cpu", {{"type", "4\n"},
                         {"format/event", "config:0-7,32-35\n"},
                         {"format/umask", "config:8-15\n"},
                         {"format/edge", "config:18\n"},
                         {"format/ldlat", "config1:0-15\n"},
                         {"format/second", "config2:4-7\n"},
                         {"format/third", "config3:0-63\n"},
                         {"events/cpu-cycles", "event=0x76\n"},
                         {"events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
                         {"events/edges", "event=60,edge\n"}});
}

// A PMU of the machine room: one CPU counts for the package.
FileSystem Power() {
  return MakePmu("power",
                 {{"type", "11\n"},
                  {"cpumask", "0,24-25\n"},
                  {"format/event", "config:0-7\n"},
                  {"events/energy-pkg", "event=0x02\n"},
                  {"events/energy-pkg.scale", "2.3283064365386962890625e-10\n"},
                  {"events/energy-pkg.unit", "Joules\n"},
                  {"events/energy-pkg.per-pkg", "1\n"}});
}

absl::StatusOr<Event> Make(FileSystem system, const std::string& pmu,
                           const std::string& terms) {
  const absl::StatusOr<Pmu> opened = Pmu::Open(pmu, system);
  if (!opened.ok()) return opened.status();
  return opened->MakeEvent(terms);
}

// Events of the crate perf-event2's tests of its DynamicBuilder: a parameter
// fills the upper half of config.
FileSystem Frogs() {
  return MakePmu("frogs", {{"type", "66666\n"},
                           {"format/low", "config:0-31\n"},
                           {"format/high", "config:32-63\n"},
                           {"format/leap", "config1:0\n"},
                           {"events/evt1", "low=0xFFFFFFFF,high=?,leap=1\n"},
                           {"events/evt1.scale", "0.5\n"},
                           {"events/evt1.unit", "Frogs\n"},
                           {"events/evt2", "high=0x45,low=0x00ABCDEF\n"}});
}

TEST(TermsTest, ParseHexSanity) {
  EXPECT_EQ(ParseNumber("0xFFFFFFFF"), 0xFFFFFFFFu);
  EXPECT_EQ(ParseNumber("0xffffffffffffffff"), ~uint64_t{0});
  EXPECT_EQ(ParseNumber("010"), 10u);
  for (const char* wrong : {"", "0x", "0x10000000000000000", "-1", "+1", " 1",
                            "0x-1", "1a", "18446744073709551616"}) {
    EXPECT_EQ(ParseNumber(wrong), std::nullopt) << wrong;
  }
}

TEST(PmuTest, Evt1NeedsItsParameter) {
  const absl::StatusOr<Event> event = Make(Frogs(), "frogs", "evt1");
  EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(event.status().message(), HasSubstr("\"high\""));
}

TEST(PmuTest, Evt1WithItsParameter) {
  const absl::StatusOr<Event> event = Make(Frogs(), "frogs", "evt1,high=0x770");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, 66666u);
  EXPECT_EQ(event->config, 0x770FFFFFFFFu);
  EXPECT_EQ(event->config1, 1u);
  EXPECT_EQ(event->scale, 0.5);
  EXPECT_EQ(event->unit, "Frogs");
}

TEST(PmuTest, Evt2HasAllFields) {
  const absl::StatusOr<Event> event = Make(Frogs(), "frogs", "evt2");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->config, 0x4500ABCDEFu);
  EXPECT_EQ(event->config1, 0u);
  EXPECT_EQ(event->scale, 1);
  EXPECT_EQ(event->unit, "");
}

TEST(PmuTest, EmptyTermsLeaveAllFieldsAt0) {
  const absl::StatusOr<Event> event = Make(Frogs(), "frogs", "");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, 66666u);
  EXPECT_EQ(event->config, 0u);
}

// Defect 5 of the crate: a field that is not named is an error there.
TEST(PmuTest, PartialTermsLeaveOtherFieldsAt0) {
  const absl::StatusOr<Event> event = Make(Core(), "cpu", "event=0x3c");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, 4u);
  EXPECT_EQ(event->config, 0x3cu);
  EXPECT_EQ(event->flags, kUserOnly);
}

// AMD's event 0x1d6 has its upper bits in 32-35.
TEST(PmuTest, CommaListsSplitAValue) {
  const absl::StatusOr<Event> event = Make(Core(), "cpu", "event=0x1d6");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->config, 0x1000000d6u);
}

TEST(PmuTest, FieldsReachAllWords) {
  const absl::StatusOr<Event> event =
      Make(Core(), "cpu", "ldlat=30,second=0xa,third=0xfedcba9876543210,edge");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->config, 1u << 18);
  EXPECT_EQ(event->config1, 30u);
  EXPECT_EQ(event->config2, 0xa0u);
  EXPECT_EQ(event->config3, 0xfedcba9876543210u);
}

TEST(PmuTest, ValuesAreDecimalUnlessTheyStartWith0x) {
  EXPECT_EQ(Make(Core(), "cpu", "event=60")->config, 0x3cu);
  EXPECT_EQ(Make(Core(), "cpu", "edges")->config, 0x4003cu);
}

TEST(PmuTest, FieldsOverrideThoseOfAnEvent) {
  const absl::StatusOr<Event> event = Make(Core(), "cpu", "ldlat=30,mem-loads");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->config, 0x1cdu);
  EXPECT_EQ(event->config1, 30u);
}

TEST(PmuTest, FieldsReplaceBitsOfAWholeWord) {
  const absl::StatusOr<Event> event =
      Make(Core(), "cpu", "umask=2,config=0xff3c,config1=7");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->config, 0x23cu);
  EXPECT_EQ(event->config1, 7u);
}

TEST(PmuTest, ValuesLargerThanTheFieldAreRejected) {
  const absl::StatusOr<Event> event = Make(Core(), "cpu", "umask=0x100");
  EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(event.status().message(), HasSubstr("\"umask\""));
  EXPECT_THAT(event.status().message(), HasSubstr("at most 0xff"));
  EXPECT_FALSE(Make(Core(), "cpu", "event=0x1000").ok());
  EXPECT_TRUE(Make(Core(), "cpu", "event=0xfff").ok());
}

TEST(PmuTest, TermsThatAreWrong) {
  for (const char* terms :
       {"event=1,event=2", "event=", "event=x", "=1", "../type=1", "event=?",
        "cpu-cycles,mem-loads", "event=0x10000000000000000"}) {
    const absl::StatusOr<Event> event = Make(Core(), "cpu", terms);
    EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument)
        << terms;
  }
}

TEST(PmuTest, UnknownTermsAreNamedAndOthersSuggested) {
  const absl::StatusOr<Event> event = Make(Core(), "cpu", "mem-laods");
  EXPECT_EQ(event.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(event.status().message(), HasSubstr("\"mem-laods\""));
  EXPECT_THAT(event.status().message(), HasSubstr("\"mem-loads\""));
  const absl::StatusOr<Event> field = Make(Core(), "cpu", "unask=1");
  EXPECT_EQ(field.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(field.status().message(), HasSubstr("\"umask\""));
}

// An absent PMU's number could be that of another PMU.
TEST(PmuTest, AbsentPmusAreNotFound) {
  FileSystem system = Core();
  const absl::StatusOr<Pmu> pmu = Pmu::Open("cpux", system);
  EXPECT_EQ(pmu.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(pmu.status().message(), HasSubstr("\"cpux\""));
  EXPECT_THAT(pmu.status().message(), HasSubstr("did you mean \"cpu\""));
  FileSystem nothing;
  EXPECT_EQ(Pmu::Open("cpu", nothing).status().code(),
            absl::StatusCode::kNotFound);
  for (const char* name : {"", ".", "..", "a/b", "a b"}) {
    EXPECT_EQ(Pmu::Open(name, system).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
}

TEST(PmuTest, OtherPmusExcludeNothing) {
  const absl::StatusOr<Event> event = Make(Power(), "power", "energy-pkg");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->flags, 0u);
  EXPECT_EQ(event->config, 2u);
  EXPECT_EQ(event->scale, 0x1p-32);
  EXPECT_EQ(event->unit, "Joules");
  EXPECT_THAT(event->cpus, ElementsAre(0, 24, 25));
  EXPECT_EQ(event->name, "power/energy-pkg/");
}

TEST(PmuTest, EventsHaveCompanions) {
  FileSystem system = Power();
  const Pmu pmu = *Pmu::Open("power", system);
  EXPECT_THAT(*pmu.Events(), ElementsAre("energy-pkg"));
  EXPECT_THAT(*pmu.Fields(), ElementsAre("event"));
  const NamedEvent event = *pmu.ReadEvent("energy-pkg");
  EXPECT_TRUE(event.is_per_package);
  EXPECT_FALSE(event.is_snapshot);
  EXPECT_EQ(pmu.ReadEvent("energy-pkg.scale").status().code(),
            absl::StatusCode::kNotFound);
}

// Defect 5 of the crate: it replaces what follows the last dot.
TEST(PmuTest, NamesMayHaveDots) {
  FileSystem system = MakePmu("uncore", {{"type", "20\n"},
                                         {"format/event", "config:0-7\n"},
                                         {"events/read.hit", "event=1\n"},
                                         {"events/read.hit.scale", "64\n"},
                                         {"events/read.hit.unit", "Bytes\n"},
                                         {"events/read.hit.snapshot", "1\n"},
                                         {"events/read.scale", "3\n"}});
  const Pmu pmu = *Pmu::Open("uncore", system);
  const absl::StatusOr<NamedEvent> event = pmu.ReadEvent("read.hit");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->scale, 64);
  EXPECT_EQ(event->unit, "Bytes");
  EXPECT_TRUE(event->is_snapshot);
}

TEST(PmuTest, CorePmusOfHybridMachinesNameTheirCpus) {
  FileSystem system = MakePmu("cpu_atom", {{"type", "10\n"},
                                           {"cpus", "16-19\n"},
                                           {"caps/max_precise", "3\n"},
                                           {"format/event", "config:0-7\n"}});
  const Pmu pmu = *Pmu::Open("cpu_atom", system);
  EXPECT_TRUE(pmu.is_core());
  EXPECT_THAT(pmu.cpus(), ElementsAre(16, 17, 18, 19));
  EXPECT_EQ(pmu.MaxPrecise(), 3);
  EXPECT_EQ(pmu.MakeEvent("event=1")->flags, kUserOnly);
}

TEST(PmuTest, PmusWithoutFormatsTakeWholeWords) {
  const absl::StatusOr<Event> event =
      Make(MakePmu("software", {{"type", "1\n"}}), "software", "config=3");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, 1u);
  EXPECT_EQ(event->config, 3u);
}

TEST(PmuTest, HostileFilesAreNamed) {
  const std::string large(size_t{1} << 20, 'a');
  const std::pair<std::string, std::string> files[] = {
      {"type", "-1"},
      {"type", "4294967296"},
      {"type", ""},
      {"cpumask", "0-4294967295"},
      {"cpumask", "3,1"},
      {"cpumask", "a"},
      {"format/event", "config4:0-7"},
      {"format/event", "config:0-64"},
      {"format/event", "config:7-0"},
      {"format/event", "config:"},
      {"format/event", "config"},
      {"format/event", ""},
      {"format/event", "config:0-7,"},
      {"format/event", "config:0-7-9"},
      {"format/event", large},
      {"events/energy-pkg", "event=0x"},
      {"events/energy-pkg", "a,a"},
      {"events/energy-pkg", std::string("event\0=1", 8)},
      {"events/energy-pkg", large},
      {"events/energy-pkg.scale", "nan"},
      {"events/energy-pkg.scale", "1e999"},
      {"events/energy-pkg.scale", "0"},
      {"events/energy-pkg.scale", "one"},
      {"events/energy-pkg.unit", "\x1b[2J"},
      {"events/energy-pkg.unit", std::string(65, 'J')},
  };
  for (const auto& [file, text] : files) {
    FileSystem system = Power();
    system.Write(absl::StrCat(kDevices, "power/", file), text);
    const absl::StatusOr<Event> event = Make(system, "power", "energy-pkg");
    EXPECT_EQ(event.status().code(), absl::StatusCode::kInvalidArgument)
        << file << " " << text.substr(0, 32);
    EXPECT_THAT(event.status().message(), HasSubstr("power/" + file));
    EXPECT_LT(event.status().message().size(), 1000u);
  }
}

TEST(PmuTest, FilesThatCannotBeReadAreErrors) {
  FileSystem system = Power();
  system.Forbid(absl::StrCat(kDevices, "power/events/energy-pkg.scale"));
  EXPECT_EQ(Make(system, "power", "energy-pkg").status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(FieldTest, ParsesFormats) {
  EXPECT_EQ(*ParseField("config:0-7"), (Field{0, 0xff}));
  EXPECT_EQ(*ParseField("config1:63"), (Field{1, uint64_t{1} << 63}));
  EXPECT_EQ(*ParseField("config2:0-63"), (Field{2, ~uint64_t{0}}));
  EXPECT_EQ(*ParseField("config3:1,3,5-6"), (Field{3, 0x6a}));
  EXPECT_EQ(ParseField("config2:0-63")->max(), ~uint64_t{0});
  EXPECT_EQ(ParseField("config3:1,3,5-6")->max(), 15u);
  EXPECT_EQ(ParseField("config3:1,3,5-6")->Spread(9), 0x42u);
}

TEST(CpuListTest, ParsesLists) {
  EXPECT_THAT(*ParseCpuList("0-2,5\n"), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(*ParseCpuList("\n"), IsEmpty());
  EXPECT_EQ(ParseCpuList("0-65535")->size(), 65536u);
  EXPECT_FALSE(ParseCpuList("0-3,3").ok());
  EXPECT_FALSE(ParseCpuList("65536").ok());
}

}  // namespace
}  // namespace fleetperf::perf_event
