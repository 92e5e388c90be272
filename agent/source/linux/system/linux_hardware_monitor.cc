#include "agent/source/linux/system/linux_hardware_monitor.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "base/os/files.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t {
  kTemperature,
  kTemperatureMaximum,
  kTemperatureCritical,
  kFanSpeed,
  kVoltage,
  kCurrent,
  kPower,
  kHumidity,
  kNumColumns
};

constexpr int32_t kMilli = -3;
constexpr int32_t kMicro = -6;

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterLargeRawcount, "Temperature", "The temperature.",
      kNoCounter, kNoCounter, kNoCounter, kMilli},
     "°C",
     "/sys/class/hwmon/hwmonN/tempM_input",
     "absent below 0 °C"},
    {{1, kPerfCounterLargeRawcount, "Temperature Maximum",
      "The highest temperature in normal operation.", kNoCounter, kNoCounter,
      kNoCounter, kMilli},
     "°C",
     "/sys/class/hwmon/hwmonN/tempM_max",
     "absent if the chip does not tell it"},
    {{2, kPerfCounterLargeRawcount, "Temperature Critical",
      "The temperature from which the hardware is in danger.", kNoCounter,
      kNoCounter, kNoCounter, kMilli},
     "°C",
     "/sys/class/hwmon/hwmonN/tempM_crit",
     "absent if the chip does not tell it"},
    {{3, kPerfCounterLargeRawcount, "Fan Speed",
      "Revolutions of the fan per minute."},
     "rpm",
     "/sys/class/hwmon/hwmonN/fanM_input"},
    {{4, kPerfCounterLargeRawcount, "Voltage", "The voltage.", kNoCounter,
      kNoCounter, kNoCounter, kMilli},
     "V",
     "/sys/class/hwmon/hwmonN/inM_input",
     "absent if negative"},
    {{5, kPerfCounterLargeRawcount, "Current", "The electric current.",
      kNoCounter, kNoCounter, kNoCounter, kMilli},
     "A",
     "/sys/class/hwmon/hwmonN/currM_input",
     "absent if negative"},
    {{6, kPerfCounterLargeRawcount, "Power", "The electric power.", kNoCounter,
      kNoCounter, kNoCounter, kMicro},
     "W",
     "/sys/class/hwmon/hwmonN/powerM_input, else powerM_average"},
    {{7, kPerfCounterLargeRawcount, "Humidity", "The relative humidity.",
      kNoCounter, kNoCounter, kNoCounter, kMilli},
     "%",
     "/sys/class/hwmon/hwmonN/humidityM_input"},
};
static_assert(std::size(kCounters) == kNumColumns);

// Bounds the instances.
constexpr size_t kMaxSensors = 4096;
constexpr uint32_t kMaxSensorsOfChip = 1 << 12;

constexpr std::pair<absl::string_view, Column> kKinds[] = {
    {"temp", kTemperature}, {"fan", kFanSpeed}, {"in", kVoltage},
    {"curr", kCurrent},     {"power", kPower},  {"humidity", kHumidity},
};

// Returns the column of "temp1" and the like.
std::optional<Column> ColumnOf(absl::string_view sensor) {
  for (const auto& [prefix, column] : kKinds) {
    absl::string_view number = sensor;
    uint32_t ignored = 0;
    if (absl::ConsumePrefix(&number, prefix) &&
        absl::SimpleAtoi(number, &ignored)) {
      return column;
    }
  }
  return std::nullopt;
}

// Returns the name of the device, if it starts with that of the chip
// ("coretemp.0", "nvme0"), else both, because a machine can have several chips
// of the same name.
std::string ChipName(const std::string& directory) {
  const std::string name = ReadFirstLine(directory + "/name");
  const std::string device = LinkTargetName(directory + "/device");
  if (device.empty()) return name;
  if (absl::StartsWith(device, name)) return device;
  return absl::StrCat(name, "-", device);
}

}  // namespace

constinit const LinuxCounterset LinuxHardwareMonitor::kCounterset = {
    .guid = "{cf653738-7296-5f60-8a52-d8eb3607d2c5}",
    .name = "Linux Hardware Monitor",
    .help = "Sensors of temperatures, fans, voltages and power.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "`CHIP/SENSOR`: `coretemp.0/Package id 0`, `nvme0/Composite`, "
        "`k10temp-0000:00:18.3/Tctl`, `nct6775.656/fan2`. Each has the "
        "counters of its kind. Some chips take milliseconds to answer, so the "
        "interval should not be short. Old drivers have their files in "
        "`hwmonN/device`; the chip is then called as in `name`: "
        "`coretemp/temp1`",
    .counters = kCounters};

LinuxHardwareMonitor::LinuxHardwareMonitor(const std::string& root)
    : Provider(MakeRegistration(kCounterset)), root_(root) {}

absl::Status LinuxHardwareMonitor::Sample(ColumnSet needed,
                                          const Clocks& clocks,
                                          CountersetSample* sample) {
  if (list_.IsDue(clocks)) List();
  if (left_out_ > 0) {
    sample->LeaveOut(left_out_,
                     absl::StrCat("there are more than ", kMaxSensors,
                                  " sensors; those of the last chips are "
                                  "absent"));
  }
  for (Sensor& sensor : sensors_) {
    sample->AddInstance(sensor.utf16_name, sensor.id);
    sample->Set(kTemperatureMaximum, sensor.maximum);
    sample->Set(kTemperatureCritical, sensor.critical);
    if (!Has(needed, sensor.column)) continue;
    if (auto text = sensor.file.Read(clocks, &buffer_)) {
      sample->Set(sensor.column, NextNumber(&*text));
    }
    sensor.file.Close();  // rarely read
  }
  return absl::OkStatus();
}

void LinuxHardwareMonitor::List() {
  sensors_.clear();
  left_out_ = 0;
  const std::string directory = root_ + "/sys/class/hwmon";
  std::set<std::string> old_chips;
  for (const std::string& name : ListNames(directory)) {
    absl::string_view number = name;
    uint32_t chip = 0;
    if (!absl::ConsumePrefix(&number, "hwmon") ||
        !absl::SimpleAtoi(number, &chip)) {
      continue;
    }
    const std::string path = absl::StrCat(directory, "/", name);
    if (FileExists(path + "/name")) {
      ListChip(path, ChipName(path), chip);
      continue;
    }
    // Old drivers put all files into the device's directory.
    const std::string device = path + "/device";
    std::string chip_name = ReadFirstLine(device + "/name");
    if (!old_chips.insert(chip_name).second) {
      absl::StrAppend(&chip_name, "-", LinkTargetName(device));
    }
    ListChip(device, chip_name, chip);
  }
}

void LinuxHardwareMonitor::ListChip(const std::string& directory,
                                    const std::string& chip_name,
                                    uint32_t chip) {
  const std::vector<std::string> files = ListNames(directory);
  std::set<std::string> names;
  uint32_t position = 0;
  for (const std::string& file : files) {
    absl::string_view sensor = file;
    if (!absl::ConsumeSuffix(&sensor, "_input")) {
      // A power meter has an average, another value, or both.
      if (!absl::ConsumeSuffix(&sensor, "_average") ||
          std::binary_search(files.begin(), files.end(),
                             absl::StrCat(sensor, "_input"))) {
        continue;
      }
    }
    const std::optional<Column> column = ColumnOf(sensor);
    if (!column.has_value()) continue;
    if (sensors_.size() == kMaxSensors) {
      ++left_out_;
      continue;
    }
    const std::string path = absl::StrCat(directory, "/", sensor);
    std::string name = ReadFirstLine(path + "_label");
    if (name.empty()) name = std::string(sensor);
    if (!names.insert(name).second) absl::StrAppend(&name, " (", sensor, ")");
    sensors_.push_back(
        {.utf16_name = Utf16FromUtf8(absl::StrCat(chip_name, "/", name)),
         .id = chip * kMaxSensorsOfChip + position++,
         .column = *column,
         .file = OptionalFile(absl::StrCat(directory, "/", file))});
    if (*column == kTemperature) {
      sensors_.back().maximum = ReadNumber(path + "_max");
      sensors_.back().critical = ReadNumber(path + "_crit");
    }
  }
}

}  // namespace fleetperf::agent
