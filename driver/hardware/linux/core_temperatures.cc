#include "driver/hardware/linux/core_temperatures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace fleetperf::hardware {
namespace {

constexpr char kSensors[] = "/sys/class/hwmon";
constexpr char kCpus[] = "/sys/devices/system/cpu";

std::string LineOf(perf_event::System& system, const std::string& path) {
  const auto text = system.ReadFile(path);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

std::vector<std::string> NamesIn(perf_event::System& system,
                                 const std::string& path) {
  return system.ListDirectory(path).value_or(std::vector<std::string>());
}

std::optional<int> NumberAfter(absl::string_view prefix,
                               absl::string_view text) {
  int number;
  if (!absl::ConsumePrefix(&text, prefix) || !absl::SimpleAtoi(text, &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

CoreTemperatures::CoreTemperatures(perf_event::System& system)
    : system_(system) {
  for (const std::string& sensor : NamesIn(system, kSensors)) {
    AddSensors(absl::StrCat(kSensors, "/", sensor));
  }
  if (cores_.empty() && processor_.empty()) return;
  for (const std::string& name : NamesIn(system, kCpus)) {
    const std::optional<int> cpu = NumberAfter("cpu", name);
    if (!cpu) continue;
    const std::string topology = absl::StrCat(kCpus, "/", name, "/topology/");
    int package = 0;
    int core = 0;
    if (!absl::SimpleAtoi(LineOf(system, topology + "physical_package_id"),
                          &package) ||
        !absl::SimpleAtoi(LineOf(system, topology + "core_id"), &core)) {
      continue;
    }
    const auto sensor = cores_.find({package, core});
    if (sensor != cores_.end()) {
      files_[*cpu] = sensor->second;
    } else if (!processor_.empty()) {
      files_[*cpu] = processor_;
    }
  }
}

// coretemp has a directory for each package, with a label for the package and
// one for each core. k10temp has one temperature for all cores.
void CoreTemperatures::AddSensors(const std::string& directory) {
  const std::string driver = LineOf(system_, directory + "/name");
  if (driver == "k10temp" && processor_.empty()) {
    processor_ = directory + "/temp1";
  }
  if (driver != "coretemp") return;
  int package = 0;
  std::map<int, std::string> inputs;  // by core
  for (const std::string& file : NamesIn(system_, directory)) {
    if (!absl::EndsWith(file, "_label")) continue;
    const std::string label = LineOf(system_, directory + "/" + file);
    if (const auto number = NumberAfter("Package id ", label)) {
      package = *number;
    } else if (const auto core = NumberAfter("Core ", label)) {
      inputs[*core] =
          absl::StrCat(directory, "/", absl::StripSuffix(file, "_label"));
    }
  }
  for (auto& [core, input] : inputs) {
    cores_[{package, core}] = std::move(input);
  }
}

std::optional<uint64_t> CoreTemperatures::Read(int cpu,
                                               const char* file) const {
  const auto sensor = files_.find(cpu);
  uint64_t millidegrees;
  if (sensor == files_.end() ||
      !absl::SimpleAtoi(LineOf(system_, sensor->second + file),
                        &millidegrees)) {
    return std::nullopt;
  }
  return millidegrees / 1000;
}

std::optional<uint64_t> CoreTemperatures::Of(int cpu) const {
  return Read(cpu, "_input");
}

// coretemp's "crit" is the temperature at which the CPU throttles (TjMax).
std::optional<uint64_t> CoreTemperatures::Headroom(int cpu,
                                                   uint64_t temperature) const {
  const std::optional<uint64_t> limit = Read(cpu, "_crit");
  if (!limit) return std::nullopt;
  return *limit - std::min(*limit, temperature);
}

}  // namespace fleetperf::hardware
