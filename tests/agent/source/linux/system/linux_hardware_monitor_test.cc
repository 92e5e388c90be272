#include "agent/source/linux/system/linux_hardware_monitor.h"

#include <filesystem>

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::IsEmpty;
using testing::Reading;
using ::testing::UnorderedElementsAre;
using testing::Values;

class LinuxHardwareMonitorTest : public testing::LinuxFixture {
 protected:
  static constexpr char kMonitor[] = "Linux Hardware Monitor";

  void WriteFile(int chip, const std::string& file, absl::string_view text) {
    Write(absl::StrCat("sys/class/hwmon/hwmon", chip, "/", file), text);
  }
  void AddChip(int chip, const std::string& name, const std::string& device) {
    WriteFile(chip, "name", name + "\n");
    if (device.empty()) return;
    std::filesystem::create_symlink(
        "../../../" + device,
        PathOf(absl::StrCat("sys/class/hwmon/hwmon", chip, "/device")));
  }
};

// Units as in the kernel's Documentation/hwmon/sysfs-interface.rst.
TEST_F(LinuxHardwareMonitorTest, ReadsEveryKindOfSensor) {
  AddChip(3, "nct6775", "nct6775.656");
  WriteFile(3, "temp1_input", "45500\n");
  WriteFile(3, "temp1_label", "SYSTIN\n");
  WriteFile(3, "temp1_max", "80000\n");
  WriteFile(3, "temp1_crit", "100000\n");
  WriteFile(3, "fan2_input", "1200\n");
  WriteFile(3, "in0_input", "1016\n");
  WriteFile(3, "curr1_input", "2500\n");
  WriteFile(3, "power1_input", "25000000\n");
  WriteFile(3, "power1_average", "1\n");
  WriteFile(3, "power2_average", "30000000\n");
  WriteFile(3, "humidity1_input", "55000\n");
  WriteFile(3, "temp1_alarm", "1\n");
  WriteFile(3, "intrusion0_input", "1\n");
  WriteFile(3, "temp_input", "1\n");
  const Reading reading = Sample(kMonitor);
  const std::map<std::string, Values> expected = {
      {"nct6775.656/SYSTIN",
       {{"Temperature", 45500},
        {"Temperature Maximum", 80000},
        {"Temperature Critical", 100000}}},
      {"nct6775.656/fan2", {{"Fan Speed", 1200}}},
      {"nct6775.656/in0", {{"Voltage", 1016}}},
      {"nct6775.656/curr1", {{"Current", 2500}}},
      {"nct6775.656/power1", {{"Power", 25000000}}},
      {"nct6775.656/power2", {{"Power", 30000000}}},
      {"nct6775.656/humidity1", {{"Humidity", 55000}}},
  };
  EXPECT_EQ(reading.rows, expected);
}

TEST_F(LinuxHardwareMonitorTest, ShowsUnitsByScale) {
  std::map<std::string, int> scales;
  for (const auto& counter : Registration(kMonitor).counters) {
    scales[counter.name] = counter.default_scale;
  }
  EXPECT_EQ(scales, (std::map<std::string, int>{{"Temperature", -3},
                                                {"Temperature Maximum", -3},
                                                {"Temperature Critical", -3},
                                                {"Fan Speed", 0},
                                                {"Voltage", -3},
                                                {"Current", -3},
                                                {"Power", -6},
                                                {"Humidity", -3}}));
}

TEST_F(LinuxHardwareMonitorTest, DistinguishesChipsAndSensors) {
  AddChip(0, "nvme", "nvme0");
  WriteFile(0, "temp1_label", "Composite\n");
  WriteFile(0, "temp1_input", "30000\n");
  AddChip(1, "nvme", "nvme1");
  WriteFile(1, "temp1_label", "Composite\n");
  WriteFile(1, "temp1_input", "31000\n");
  AddChip(2, "k10temp", "0000:00:18.3");
  WriteFile(2, "temp1_label", "Tctl\n");
  WriteFile(2, "temp1_input", "32000\n");
  WriteFile(2, "temp2_label", "Tctl\n");
  WriteFile(2, "temp2_input", "33000\n");
  AddChip(10, "acpitz", "");
  WriteFile(10, "temp1_input", "34000\n");
  const Reading reading = Sample(kMonitor);
  EXPECT_THAT(reading.names,
              UnorderedElementsAre("nvme0/Composite", "nvme1/Composite",
                                   "k10temp-0000:00:18.3/Tctl",
                                   "k10temp-0000:00:18.3/Tctl (temp2)",
                                   "acpitz/temp1"));
  EXPECT_EQ(reading.Get("nvme1/Composite", "Temperature"), 31000);
  std::set<uint32_t> ids;
  for (const auto& [name, id] : reading.ids) ids.insert(id);
  EXPECT_EQ(ids.size(), 5u);
}

// Before Linux 3.15, drivers put their files into the device's directory.
TEST_F(LinuxHardwareMonitorTest, FindsSensorsInTheDevicesDirectory) {
  const std::string platform = "sys/devices/platform/";
  Write(platform + "coretemp.0/name", "coretemp\n");
  Write(platform + "coretemp.0/temp1_input", "45000\n");
  Write(platform + "coretemp.1/name", "coretemp\n");
  Write(platform + "coretemp.1/temp1_input", "46000\n");
  for (const int chip : {0, 1}) {
    const std::string directory =
        PathOf(absl::StrCat("sys/class/hwmon/hwmon", chip));
    std::filesystem::create_directories(directory);
    std::filesystem::create_symlink(
        absl::StrCat("../../../devices/platform/coretemp.", chip),
        directory + "/device");
  }
  AddChip(2, "k10temp", "");
  WriteFile(2, "temp1_input", "-5000\n");
  const Reading reading = Sample(kMonitor);
  EXPECT_EQ(reading.Get("coretemp/temp1", "Temperature"), 45000);
  EXPECT_EQ(reading.Get("coretemp-coretemp.1/temp1", "Temperature"), 46000);
  // As documented.
  EXPECT_EQ(reading.rows.at("k10temp/temp1"), Values());
}

TEST_F(LinuxHardwareMonitorTest, TellsOfSensorsBeyondTheLimit) {
  AddChip(0, "chip", "");
  for (int i = 1; i <= 4099; ++i) {
    WriteFile(0, absl::StrCat("temp", i, "_input"), "1000\n");
  }
  EXPECT_EQ(Sample(kMonitor).names.size(), 4096u);
  ASSERT_EQ(source().Limitations().size(), 1);
  EXPECT_EQ(source().Limitations()[0].reason,
            "there are more than 4096 sensors; those of the last chips are "
            "absent");
  EXPECT_EQ(Sample("fleetperf Collection").Get(kMonitor, "Instances Left Out"),
            3);
}

TEST_F(LinuxHardwareMonitorTest, LeavesOutWhatCannotBeRead) {
  EXPECT_THAT(Sample(kMonitor).names, IsEmpty());
  AddChip(0, "chip", "");
  WriteFile(0, "temp1_input", "-5000\n");
  WriteFile(0, "temp2_input", "");
  WriteFile(0, "temp3_input", "30000\n");
  clock_.Advance(absl::Seconds(60));  // it looks for sensors once a minute
  Reading reading = Sample(kMonitor);
  EXPECT_EQ(reading.rows.at("chip/temp1"), Values());
  EXPECT_EQ(reading.rows.at("chip/temp2"), Values());
  EXPECT_EQ(reading.Get("chip/temp3", "Temperature"), 30000);
  Remove("sys/class/hwmon/hwmon0");
  reading = Sample(kMonitor);
  EXPECT_EQ(reading.Get("chip/temp3", "Temperature"), std::nullopt);
  clock_.Advance(absl::Seconds(60));
  EXPECT_THAT(Sample(kMonitor).names, IsEmpty());
}

}  // namespace
}  // namespace fleetperf::agent
