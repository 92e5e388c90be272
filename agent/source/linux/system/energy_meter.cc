#include "agent/source/linux/system/energy_meter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

using namespace perflib;  // the counter types

enum Column : size_t { kEnergy, kPower, kNumColumns };

constexpr int32_t kMilli = -3;  // microwatts are shown as milliwatts

constexpr LinuxCounter kCounters[] = {
    {{1, kPerfCounterLargeRawcount, "Energy",
      "The energy used, in picowatt-hours."},
     "pWh",
     "/sys/class/powercap/ZONE/energy_uj",
     "since the machine or the agent started"},
    {{2, kPerfCounterBulkCount, "Power", "The average power.", kNoCounter,
      kNoCounter, kNoCounter, kMilli},
     "mW",
     "/sys/class/powercap/ZONE/energy_uj",
     "the energy between the samples; Windows shows a moment"},
};
static_assert(std::size(kCounters) == kNumColumns);

// 1 pWh is 3.6 nJ, so 9 uJ are 2500 pWh. The result does not overflow before
// the number of pWh does.
uint64_t PicowattHours(uint64_t microjoules) {
  return microjoules / 9 * 2500 + microjoules % 9 * 2500 / 9;
}

// No processor uses more.
constexpr uint64_t kMaxWatts = 4000;
constexpr uint64_t kTicksPerMicrosecond = kLinuxPerfFreq / 1'000'000;

// "intel-rapl:0" is 256, and its part "intel-rapl:0:1" 258, whatever other
// zones there are. The kernel writes the numbers in hexadecimal. std::nullopt
// for the control type, and for intel-rapl-mmio, which shows the meters of
// intel-rapl again.
std::optional<uint32_t> IdOf(absl::string_view zone) {
  if (!absl::ConsumePrefix(&zone, "intel-rapl:")) return std::nullopt;
  const std::pair<absl::string_view, absl::string_view> numbers =
      absl::StrSplit(zone, absl::MaxSplits(':', 1));
  uint32_t number = 0;
  if (!absl::SimpleHexAtoi(numbers.first, &number) || number >= kMaxNodes) {
    return std::nullopt;
  }
  uint32_t part = 0;
  if (absl::SimpleHexAtoi(numbers.second, &part)) ++part;
  return (number + 1) << 8 | (part & 0xFF);
}

// The parts of a package as Windows calls them.
constexpr std::pair<absl::string_view, absl::string_view> kParts[] = {
    {"core", "PP0"}, {"uncore", "PP1"}, {"dram", "DRAM"}};

}  // namespace

constinit const LinuxCounterset EnergyMeter::kCounterset = {
    .guid = "{35cd2168-8d24-5007-97de-f6c76d16a8e5}",
    .name = "Energy Meter",
    .help = "The energy that processors and their memory use.",
    .instance_type = kCountersetMultipleInstances,
    .instances =
        "meters of RAPL with Windows' names: `RAPL_Package0_PKG`, and its "
        "parts `RAPL_Package0_PP0` (cores), `RAPL_Package0_PP1` (graphics), "
        "`RAPL_Package0_DRAM`; others as the kernel calls them: `RAPL_psys`. "
        "Only root may read them",
    .counters = kCounters};

EnergyMeter::EnergyMeter(const std::string& root)
    : Provider(MakeRegistration(kCounterset)), root_(root) {}

absl::Status EnergyMeter::Sample(ColumnSet, const Clocks& clocks,
                                 CountersetSample* sample) {
  if (list_.IsDue(clocks)) List();
  for (Meter& meter : meters_) {
    auto text = meter.file.Read(&buffer_);
    if (!text.ok()) continue;
    const std::optional<uint64_t> read = NextNumber(&*text);
    if (!read.has_value()) continue;
    Update(*read, clocks, &meter);
    sample->AddInstance(meter.utf16_name, meter.id);
    sample->Set(kEnergy, PicowattHours(meter.microjoules));
    sample->Set(kPower, meter.microjoules);
  }
  return absl::OkStatus();
}

// A meter wraps at its range, within minutes on large machines. While the
// machine is suspended, it can start over, which looks like a wrap that needed
// an impossible power. The clock does not count that time.
void EnergyMeter::Update(uint64_t read, const Clocks& clocks, Meter* meter) {
  const uint64_t last = meter->read.value_or(0);
  uint64_t growth = read;  // since the start, or since it started over
  if (read >= last) {
    growth = read - last;
  } else {
    const uint64_t wrapped = meter->range - std::min(meter->range, last) + read;
    const auto ticks =
        static_cast<uint64_t>(clocks.perf_time_stamp - meter->read_at);
    if (wrapped <= ticks / kTicksPerMicrosecond * kMaxWatts) growth = wrapped;
  }
  meter->microjoules += growth;
  meter->read = read;
  meter->read_at = clocks.perf_time_stamp;
}

// Meters that stay keep their state.
void EnergyMeter::List() {
  std::vector<Meter> known = std::move(meters_);
  meters_.clear();
  const std::string directory = root_ + "/sys/class/powercap";
  for (const std::string& zone : ListNames(directory)) {
    const std::optional<uint32_t> id = IdOf(zone);
    if (!id.has_value()) continue;
    const auto found =
        std::find_if(known.begin(), known.end(),
                     [&](const Meter& meter) { return meter.zone == zone; });
    if (found != known.end()) {
      meters_.push_back(std::move(*found));
      continue;
    }
    const std::string path = absl::StrCat(directory, "/", zone);
    meters_.push_back(
        {.zone = zone,
         .utf16_name = Utf16FromUtf8(MeterName(zone)),
         .id = *id,
         .file = ProcFile(path + "/energy_uj", ProcFile::Kind::kSmall),
         .range = ReadNumber(path + "/max_energy_range_uj").value_or(0)});
  }
}

// A zone such as "intel-rapl:0" is named "package-0", and "intel-rapl:0:1", a
// part of it, "dram".
std::string EnergyMeter::MeterName(const std::string& zone) const {
  const auto name_of = [this](absl::string_view directory) {
    return ReadFirstLine(
        absl::StrCat(root_, "/sys/class/powercap/", directory, "/name"));
  };
  const std::string name = name_of(zone);
  absl::string_view package = name;
  if (absl::ConsumePrefix(&package, "package-")) {
    return absl::StrCat("RAPL_Package", package, "_PKG");
  }
  if (std::count(zone.begin(), zone.end(), ':') < 2) {
    return absl::StrCat("RAPL_", name);
  }
  const std::string parent = name_of(zone.substr(0, zone.rfind(':')));
  package = parent;
  if (!absl::ConsumePrefix(&package, "package-")) {
    return absl::StrCat("RAPL_", parent, "_", name);
  }
  for (const auto& [linux_name, windows_name] : kParts) {
    if (name == linux_name) {
      return absl::StrCat("RAPL_Package", package, "_", windows_name);
    }
  }
  return absl::StrCat("RAPL_Package", package, "_", name);
}

}  // namespace fleetperf::agent
