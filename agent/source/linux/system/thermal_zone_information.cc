#include "agent/source/linux/system/thermal_zone_information.h"

#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t { kTemperature, kPreciseTemperature, kNumColumns };

constexpr LinuxCounter kCounters[] = {
    {{0, kPerfCounterRawcount, "Temperature",
      "The temperature of the zone in kelvins."},
     "K",
     "/sys/class/thermal/thermal_zoneN/temp"},
    {{3, kPerfCounterRawcount, "High Precision Temperature",
      "The temperature of the zone in tenths of a kelvin."},
     "0.1 K",
     "/sys/class/thermal/thermal_zoneN/temp"},
};
static_assert(std::size(kCounters) == kNumColumns);

// 0 °C in thousandths of a kelvin.
constexpr int64_t kZeroCelsius = 273'150;

std::optional<uint64_t> Millikelvins(absl::string_view text) {
  SkipSpaces(&text);
  if (absl::StripSuffix(text, "\n") == "-1") return std::nullopt;  // unknown
  const bool is_negative = absl::ConsumePrefix(&text, "-");
  const std::optional<uint64_t> number = NextNumber(&text);
  if (!number.has_value() || *number > uint64_t{1} << 32) return std::nullopt;
  const auto celsius = static_cast<int64_t>(*number);
  const int64_t kelvins = kZeroCelsius + (is_negative ? -celsius : celsius);
  if (kelvins < 0) return std::nullopt;
  return static_cast<uint64_t>(kelvins);
}

}  // namespace

constinit const LinuxCounterset ThermalZoneInformation::kCounterset = {
    .guid = "{22570c91-f789-5aaa-8ffa-8eea6196f178}",
    .name = "Thermal Zone Information",
    .help = "Temperatures of the machine's thermal zones.",
    .instance_type = kCountersetMultipleInstances,
    .instances = "`TYPE:NUMBER`: `acpitz:0`, `x86_pkg_temp:2`",
    .counters = kCounters};

ThermalZoneInformation::ThermalZoneInformation(const std::string& root)
    : Provider(MakeRegistration(kCounterset)), root_(root) {}

absl::Status ThermalZoneInformation::Sample(ColumnSet, const Clocks& clocks,
                                            CountersetSample* sample) {
  if (list_.IsDue(clocks)) List();
  for (Zone& zone : zones_) {
    sample->AddInstance(zone.utf16_name, zone.number);
    if (const auto text = zone.temperature.Read(clocks, &buffer_)) {
      if (const auto millikelvins = Millikelvins(*text)) {
        sample->Set(kTemperature, *millikelvins / 1000);
        sample->Set(kPreciseTemperature, *millikelvins / 100);
      }
    }
    zone.temperature.Close();  // rarely read
  }
  return absl::OkStatus();
}

void ThermalZoneInformation::List() {
  zones_.clear();
  const std::string directory = root_ + "/sys/class/thermal";
  for (const std::string& name : ListNames(directory)) {
    absl::string_view suffix = name;
    uint32_t number = 0;
    if (!absl::ConsumePrefix(&suffix, "thermal_zone") ||
        !absl::SimpleAtoi(suffix, &number)) {
      continue;
    }
    const std::string path = absl::StrCat(directory, "/", name);
    zones_.push_back({.utf16_name = Utf16FromUtf8(absl::StrCat(
                          ReadFirstLine(path + "/type"), ":", number)),
                      .number = number,
                      .temperature = OptionalFile(path + "/temp")});
  }
}

}  // namespace fleetperf::agent
