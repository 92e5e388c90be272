#include "driver/hardware/linux/uncore_frequency.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "driver/hardware/linux/sysfs_number.h"

namespace fleetperf::hardware {
namespace {

constexpr char kDirectory[] = "/sys/devices/system/cpu/intel_uncore_frequency";
constexpr uint64_t kHertzPerKilohertz = 1000;

// The package in "package_01_die_00".
std::optional<int> PackageIn(absl::string_view name) {
  int package;
  if (!absl::ConsumePrefix(&name, "package_") ||
      !absl::SimpleAtoi(name.substr(0, name.find('_')), &package)) {
    return std::nullopt;
  }
  return package;
}

}  // namespace

UncoreFrequency::UncoreFrequency(perf_event::System& system) : system_(system) {
  const auto names = system.ListDirectory(kDirectory);
  if (!names.ok()) return;
  std::vector<std::pair<int, std::string>> parts;
  for (const std::string& name : *names) {
    const std::string directory = absl::StrCat(kDirectory, "/", name);
    const std::string file = directory + "/current_freq_khz";
    if (const auto package = PackageIn(name)) {
      files_.emplace_back(*package, file);
    } else if (absl::StartsWith(name, "uncore")) {
      const auto number = ReadNumber(system, directory + "/package_id");
      if (number) parts.emplace_back(static_cast<int>(*number), file);
    }
  }
  if (files_.empty()) files_ = std::move(parts);
}

std::optional<uint64_t> UncoreFrequency::Of(int package) const {
  std::optional<uint64_t> highest;
  for (const auto& [of_package, file] : files_) {
    if (of_package != package) continue;
    const auto kilohertz = ReadNumber(system_, file);
    if (!kilohertz || *kilohertz == 0) continue;
    highest = std::max(highest.value_or(0), *kilohertz * kHertzPerKilohertz);
  }
  return highest;
}

}  // namespace fleetperf::hardware
