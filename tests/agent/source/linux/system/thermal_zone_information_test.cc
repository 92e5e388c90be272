#include "agent/source/linux/system/thermal_zone_information.h"

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::IsEmpty;
using testing::Reading;
using testing::Values;

class ThermalZoneInformationTest : public testing::LinuxFixture {
 protected:
  static constexpr char kZones[] = "Thermal Zone Information";

  void AddZone(int number, const std::string& type,
               const std::string& temperature) {
    const std::string zone =
        absl::StrCat("sys/class/thermal/thermal_zone", number);
    Write(zone + "/type", type + "\n");
    Write(zone + "/temp", temperature + "\n");
  }
};

TEST_F(ThermalZoneInformationTest, ShowsKelvins) {
  AddZone(0, "acpitz", "27800");
  AddZone(12, "x86_pkg_temp", "-10050");
  Write("sys/class/thermal/cooling_device0/type", "Processor\n");
  const Reading reading = Sample(kZones);
  // 273.15 + 27.8 = 300.95; 273.15 - 10.05 = 263.1.
  const std::map<std::string, Values> expected = {
      {"acpitz:0",
       {{"Temperature", 300}, {"High Precision Temperature", 3009}}},
      {"x86_pkg_temp:12",
       {{"Temperature", 263}, {"High Precision Temperature", 2631}}}};
  EXPECT_EQ(reading.rows, expected);
  EXPECT_EQ(reading.ids.at("x86_pkg_temp:12"), 12u);
}

TEST_F(ThermalZoneInformationTest, LeavesOutImpossibleTemperatures) {
  EXPECT_THAT(Sample(kZones).names, IsEmpty());
  AddZone(0, "a", "-273151");
  AddZone(1, "b", "hot");
  AddZone(2, "c", "99999999999999");
  AddZone(3, "d", "-273150");
  clock_.Advance(absl::Seconds(60));
  const Reading reading = Sample(kZones);
  for (const char* zone : {"a:0", "b:1", "c:2"}) {
    EXPECT_EQ(reading.rows.at(zone), Values()) << zone;
  }
  EXPECT_EQ(reading.Get("d:3", "Temperature"), 0);
}

}  // namespace
}  // namespace fleetperf::agent
