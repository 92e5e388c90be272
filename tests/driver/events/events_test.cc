#include "driver/events/events.h"

#include <cstdint>
#include <span>
#include <string>

#include "driver/events/core_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetperf::events {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Core kHaswellServer = {
    .vendor = pmu::Vendor::kIntel, .family = 6, .model = 0x3F, .stepping = 2};
constexpr Core kZen2 = {
    .vendor = pmu::Vendor::kAmd, .family = 0x17, .model = 0x31, .stepping = 0};

Core AlderLake(uint32_t core_type) {
  return {.vendor = pmu::Vendor::kIntel,
          .family = 6,
          .model = 0x97,
          .stepping = 2,
          .core_type = core_type};
}

// "NAME CODE/MASK", or "" if nothing counts it.
std::string Find(std::span<const Event> events, Counted counted) {
  for (const Event& event : events) {
    if (event.counted == counted) {
      return std::string(event.name) + " " + PerfName(event.code, "cpu");
    }
  }
  return "";
}

TEST(EventsOfModel, AreThoseOfTheModel) {
  const auto events = EventsOfModel(kHaswellServer);
  EXPECT_EQ(Find(events, Counted::kL3LoadHits),
            "MEM_LOAD_UOPS_RETIRED.L3_HIT cpu/event=0xd1,umask=0x04/");
  EXPECT_EQ(Find(events, Counted::kL3LoadMisses),
            "MEM_LOAD_UOPS_RETIRED.L3_MISS cpu/event=0xd1,umask=0x20/");
  EXPECT_EQ(Find(events, Counted::kFillBufferHits),
            "MEM_LOAD_UOPS_RETIRED.HIT_LFB cpu/event=0xd1,umask=0x40/");
  EXPECT_EQ(Find(events, Counted::kL2ReadHits),
            "L2_RQSTS.DEMAND_DATA_RD_HIT cpu/event=0x24,umask=0xc1/");
}

TEST(CodeNameOf, IsThatOfTheModel) {
  EXPECT_STREQ(CodeNameOf(kHaswellServer), "Haswell-EP");
  EXPECT_STREQ(CodeNameOf(kZen2), "Zen 2");
  EXPECT_STREQ(CodeNameOf(AlderLake(kAtomCore)), "Alder Lake or Raptor Lake");
  EXPECT_STREQ(CodeNameOf({.vendor = pmu::Vendor::kIntel,
                           .family = 6,
                           .model = 0x55,
                           .stepping = 4}),
               "Skylake-SP");
  EXPECT_STREQ(CodeNameOf({.vendor = pmu::Vendor::kAmd, .family = 0x10}), "");
}

TEST(CodeNameOf, EveryModelHasOne) {
  for (const ModelEvents& model : AllModelEvents()) {
    EXPECT_STRNE(CodeNameOf({.vendor = model.vendor,
                             .family = model.family,
                             .model = model.first_model,
                             .stepping = model.first_stepping,
                             .core_type = model.core_type}),
                 "")
        << model.list;
  }
}

TEST(EventsOfModel, DependOnTheStepping) {
  Core server = {.vendor = pmu::Vendor::kIntel, .family = 6, .model = 0x55};
  server.stepping = 7;
  EXPECT_THAT(EventsOfModel(server), SizeIs(10));
  server.stepping = 16;  // none
  EXPECT_THAT(EventsOfModel(server), IsEmpty());
}

TEST(EventsOfModel, DependOnTheTypeOfCore) {
  EXPECT_EQ(Find(EventsOfModel(AlderLake(kBigCore)), Counted::kL2Misses),
            "MEM_LOAD_RETIRED.L2_MISS cpu/event=0xd1,umask=0x10/");
  EXPECT_EQ(Find(EventsOfModel(AlderLake(0)), Counted::kL2Misses),
            "MEM_LOAD_RETIRED.L2_MISS cpu/event=0xd1,umask=0x10/");
  EXPECT_EQ(Find(EventsOfModel(AlderLake(kAtomCore)), Counted::kL2Misses), "");
  EXPECT_EQ(Find(EventsOfModel(AlderLake(kAtomCore)), Counted::kL2Hits),
            "MEM_LOAD_UOPS_RETIRED.L2_HIT cpu/event=0xd1,umask=0x02/");
}

TEST(EventsOfModel, AreThoseOfAtomsThatReportTheirTypeWithoutBeingHybrid) {
  const Core n100 = {.vendor = pmu::Vendor::kIntel,
                     .family = 6,
                     .model = 0xBE,
                     .core_type = kAtomCore};
  EXPECT_THAT(EventsOfModel(n100), SizeIs(3));
}

TEST(EventsOfModel, AreNoneOfUnknownModels) {
  Core core = kHaswellServer;
  core.model = 0xFE;
  EXPECT_THAT(EventsOfModel(core), IsEmpty());
  core = kHaswellServer;
  core.family = 15;
  EXPECT_THAT(EventsOfModel(core), IsEmpty());
  core = kHaswellServer;
  core.vendor = pmu::Vendor::kOther;
  EXPECT_THAT(EventsOfModel(core), IsEmpty());
}

TEST(EventsOf, HaveArchitecturalEventsThatTheCpuHas) {
  Core unknown = kHaswellServer;
  unknown.model = 0xFE;
  EXPECT_THAT(EventsOf(unknown, 0), SizeIs(8));
  // Bit 3: last-level cache references; bit 7: slots.
  const auto events = EventsOf(unknown, 1 << 3 | 1 << 7);
  EXPECT_EQ(Find(events, Counted::kL3References), "");
  EXPECT_EQ(Find(events, Counted::kSlots), "");
  EXPECT_EQ(Find(events, Counted::kL3Misses),
            "LONGEST_LAT_CACHE.MISS cpu/event=0x2e,umask=0x41/");
}

TEST(EventsOf, HaveNoArchitecturalEventsOnAmd) {
  const auto events = EventsOf(kZen2, 0);
  EXPECT_EQ(Find(events, Counted::kCycles),
            "ls_not_halted_cyc cpu/event=0x76,umask=0x00/");
  EXPECT_EQ(Find(events, Counted::kInstructions),
            "ex_ret_instr cpu/event=0xc0,umask=0x00/");
  EXPECT_EQ(Find(events, Counted::kBranches),
            "ex_ret_brn cpu/event=0xc2,umask=0x00/");
  EXPECT_EQ(Find(events, Counted::kL3Misses), "");
}

// The third level of AMD is counted by its own PMU.
TEST(L3EventsOfModel, AreThoseOfAmdsModels) {
  EXPECT_EQ(Find(L3EventsOfModel(kZen2), Counted::kL3References),
            "l3_accesses cpu/event=0x04,umask=0xff/");
  EXPECT_EQ(Find(L3EventsOfModel(kZen2), Counted::kL3Misses),
            "l3_misses cpu/event=0x04,umask=0x01/");
  EXPECT_THAT(L3EventsOfModel(kHaswellServer), IsEmpty());
  Core unknown = kZen2;
  unknown.family = 0x15;
  EXPECT_THAT(L3EventsOfModel(unknown), IsEmpty());
}

// Intel's and AMD's PERFEVTSEL: code in bits 7:0, unit mask in 15:8, user in
// 16, system in 17; on AMD also bits 11:8 of the code in 35:32.
TEST(Selection, IsTheRegistersLayout) {
  EXPECT_EQ(Selection({0x2E, 0x41}), 0x3412Eu);
  EXPECT_EQ(Selection({0x120, 0x01}), 0x1'0003'0120u);
}

TEST(Code, IsHexadecimal) {
  const auto code = ParseCode("d1/08");
  ASSERT_TRUE(code);
  EXPECT_EQ(code->event, 0xD1);
  EXPECT_EQ(code->unit_mask, 0x08);
  EXPECT_EQ(CodeText(*code), "D1/08");
  EXPECT_EQ(CodeText(*ParseCode("120/FF")), "120/FF");
  for (const char* text :
       {"", "/", "D1", "D1/", "D1/8", "D1/008", "/08", "0xD1/08", "D1/0x8",
        "1D10/08", "+1/08", "D1/ 8", "G1/08", "cpu/08", "D1/08/", "D1/08u"}) {
    EXPECT_FALSE(ParseCode(text)) << text;
  }
}

TEST(RawName, HasTheBitsOfTheFormatOfCpu) {
  EXPECT_EQ(RawName({.event = 0xD1, .unit_mask = 0x08}), "r8d1");
  EXPECT_EQ(RawName({.event = 0x120, .unit_mask = 0xFF}), "r10000ff20");
}

TEST(Cpuinfo, HasTheCpusModel) {
  const Core core = CoreOfCpuinfo(
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
      "model\t\t: 63\nmodel name\t: Intel(R) Xeon(R) CPU E5-1620 v3\n"
      "stepping\t: 2\n\nprocessor\t: 1\nmodel\t\t: 1\n");
  EXPECT_EQ(core.vendor, pmu::Vendor::kIntel);
  EXPECT_EQ(core.family, 6u);
  EXPECT_EQ(core.model, 63u);
  EXPECT_EQ(core.stepping, 2u);
  EXPECT_EQ(core.core_type, 0u);
}

TEST(Cpuinfo, WithoutAllNumbersIsOfAnotherVendor) {
  EXPECT_EQ(CoreOfCpuinfo("").vendor, pmu::Vendor::kOther);
  EXPECT_EQ(CoreOfCpuinfo("vendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
                          "model\t\t: 17\n")
                .vendor,
            pmu::Vendor::kOther);
  EXPECT_EQ(CoreOfCpuinfo("vendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
                          "model\t\t: 17\nstepping\t: 1\n")
                .vendor,
            pmu::Vendor::kAmd);
}

}  // namespace
}  // namespace fleetperf::events
