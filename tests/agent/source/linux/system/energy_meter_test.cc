#include "agent/source/linux/system/energy_meter.h"

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Reading;

class EnergyMeterTest : public testing::LinuxFixture {
 protected:
  static constexpr char kMeter[] = "Energy Meter";
  static constexpr char kPackage[] = "intel-rapl:0";

  void SetEnergy(const std::string& zone, uint64_t microjoules) {
    Write(absl::StrCat("sys/class/powercap/", zone, "/energy_uj"),
          absl::StrCat(microjoules, "\n"));
  }
  void AddZone(const std::string& zone, const std::string& name,
               uint64_t microjoules) {
    const std::string directory = "sys/class/powercap/" + zone;
    Write(directory + "/name", name + "\n");
    Write(directory + "/max_energy_range_uj", "1000000\n");
    SetEnergy(zone, microjoules);
  }
};

TEST_F(EnergyMeterTest, HasWindowsNames) {
  EXPECT_THAT(Sample(kMeter).names, IsEmpty());
  AddZone("intel-rapl", "", 0);  // the control type
  AddZone("intel-rapl:0", "package-0", 9);
  AddZone("intel-rapl:0:0", "core", 1);
  AddZone("intel-rapl:0:1", "uncore", 1);
  AddZone("intel-rapl:0:2", "dram", 1);
  AddZone("intel-rapl:0:3", "other", 1);
  AddZone("intel-rapl:1", "package-1", 10);
  AddZone("intel-rapl:2", "psys", 1);
  AddZone("intel-rapl-mmio:0", "package-0", 1);
  clock_.Advance(absl::Seconds(60));
  const Reading reading = Sample(kMeter);
  EXPECT_THAT(
      reading.names,
      ElementsAre("RAPL_Package0_PKG", "RAPL_Package0_PP0", "RAPL_Package0_PP1",
                  "RAPL_Package0_DRAM", "RAPL_Package0_other",
                  "RAPL_Package1_PKG", "RAPL_psys"));
  // 1 Wh is 3600 J, so 9 uJ are 2500 pWh, and 10 uJ are 2777.8.
  EXPECT_EQ(reading.Get("RAPL_Package0_PKG", "Energy"), 2500);
  EXPECT_EQ(reading.Get("RAPL_Package1_PKG", "Energy"), 2777);
  EXPECT_EQ(reading.Get("RAPL_Package1_PKG", "Power"), 10);
}

TEST_F(EnergyMeterTest, MicrowattsAreShownAsMilliwatts) {
  EXPECT_EQ(Registration(kMeter).FindCounter(2)->name, "Power");
  EXPECT_EQ(Registration(kMeter).FindCounter(2)->default_scale, -3);
}

TEST_F(EnergyMeterTest, ContinuesWhenAMeterWraps) {
  AddZone(kPackage, "package-0", 999'000);
  const auto energy = [this] {
    const Reading reading = Sample(kMeter);
    clock_.Advance(absl::Seconds(30));
    return reading.Get("RAPL_Package0_PKG", "Power");
  };
  EXPECT_EQ(energy(), 999'000);
  SetEnergy(kPackage, 999'900);
  EXPECT_EQ(energy(), 999'900);
  SetEnergy(kPackage, 400);  // 100 to the range, and 400
  EXPECT_EQ(energy(), 1'000'400);
  SetEnergy(kPackage, 500);  // also after the list was read again
  EXPECT_EQ(energy(), 1'000'500);
}

// 0.7 J to the range in 70 us would need 10 kW: the processor lost its count.
TEST_F(EnergyMeterTest, CountsOnAfterSuspend) {
  AddZone(kPackage, "package-0", 300'000);
  const auto energy = [this] {
    return Sample(kMeter).Get("RAPL_Package0_PKG", "Power");
  };
  EXPECT_EQ(energy(), 300'000);
  clock_.Advance(absl::Microseconds(70));
  SetEnergy(kPackage, 20);
  EXPECT_EQ(energy(), 300'020);
  clock_.Advance(absl::Seconds(1));
  SetEnergy(kPackage, 10);  // a wrap: 999'980 to the range, and 10
  EXPECT_EQ(energy(), 1'300'010);
}

TEST_F(EnergyMeterTest, IdsStayWhenOtherMetersVanish) {
  AddZone(kPackage, "package-0", 1);
  AddZone("intel-rapl:0:1", "dram", 1);
  AddZone("intel-rapl:1", "package-1", 1);
  const auto before = Sample(kMeter).ids;
  Remove("sys/class/powercap/intel-rapl:0:1");
  clock_.Advance(absl::Seconds(60));
  const auto after = Sample(kMeter).ids;
  EXPECT_EQ(after.at("RAPL_Package0_PKG"), before.at("RAPL_Package0_PKG"));
  EXPECT_EQ(after.at("RAPL_Package1_PKG"), before.at("RAPL_Package1_PKG"));
  EXPECT_NE(before.at("RAPL_Package0_DRAM"), before.at("RAPL_Package1_PKG"));
}

// As the kernel writes the numbers of the tenth and the sixteenth package.
TEST_F(EnergyMeterTest, NumbersOfZonesAreHexadecimal) {
  AddZone("intel-rapl:a", "package-10", 1);
  AddZone("intel-rapl:10", "package-16", 1);
  AddZone("intel-rapl:a:0", "dram", 1);
  const auto ids = Sample(kMeter).ids;
  EXPECT_EQ(ids, (std::map<std::string, uint32_t>{
                     {"RAPL_Package10_PKG", (10 + 1) * 256},
                     {"RAPL_Package10_DRAM", (10 + 1) * 256 + 1},
                     {"RAPL_Package16_PKG", (16 + 1) * 256}}));
}

TEST_F(EnergyMeterTest, LeavesOutMetersThatVanish) {
  AddZone(kPackage, "package-0", 1);
  EXPECT_THAT(Sample(kMeter).names, ElementsAre("RAPL_Package0_PKG"));
  Write("sys/class/powercap/intel-rapl:0/energy_uj", "broken\n");
  EXPECT_THAT(Sample(kMeter).names, IsEmpty());
}

}  // namespace
}  // namespace fleetperf::agent
