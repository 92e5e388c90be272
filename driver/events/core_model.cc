#include "driver/events/core_model.h"

#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace fleetperf::events {
namespace {

// The value of the first line "KEY : VALUE".
absl::string_view ValueOf(absl::string_view key, absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(field.first) == key) {
      return absl::StripAsciiWhitespace(field.second);
    }
  }
  return "";
}

// Sources: Linux' intel-family.h, and
// tools/perf/pmu-events/arch/x86/mapfile.csv for the models of a list.
constexpr struct {
  std::string_view list;
  const char* name;
} kNames[] = {
    {"nehalemep", "Nehalem"},
    {"nehalemex", "Nehalem-EX"},
    {"westmereep-dp", "Westmere-EP"},
    {"westmereep-sp", "Westmere"},
    {"westmereex", "Westmere-EX"},
    {"sandybridge", "Sandy Bridge"},
    {"jaketown", "Sandy Bridge-EP"},
    {"ivybridge", "Ivy Bridge"},
    {"ivytown", "Ivy Bridge-EP"},
    {"haswell", "Haswell"},
    {"haswellx", "Haswell-EP"},
    {"broadwell", "Broadwell"},
    {"broadwellde", "Broadwell-DE"},
    {"broadwellx", "Broadwell-EP"},
    {"skylake", "Skylake to Comet Lake"},
    {"skylakex", "Skylake-SP"},
    {"cascadelakex", "Cascade Lake-SP or Cooper Lake"},
    {"icelake", "Ice Lake"},
    {"icelakex", "Ice Lake-SP"},
    {"rocketlake", "Rocket Lake"},
    {"tigerlake", "Tiger Lake"},
    {"sapphirerapids", "Sapphire Rapids"},
    {"emeraldrapids", "Emerald Rapids"},
    {"graniterapids", "Granite Rapids"},
    {"alderlake", "Alder Lake or Raptor Lake"},
    {"alderlaken", "Alder Lake-N"},
    {"meteorlake", "Meteor Lake"},
    {"lunarlake", "Lunar Lake"},
    {"goldmont", "Goldmont"},
    {"goldmontplus", "Goldmont Plus"},
    {"elkhartlake", "Elkhart Lake or Jasper Lake"},
    {"snowridgex", "Snow Ridge"},
    {"grandridge", "Grand Ridge"},
    {"sierraforest", "Sierra Forest"},
    {"amdzen1", "Zen or Zen+"},
    {"amdzen2", "Zen 2"},
    {"amdzen3", "Zen 3"},
    {"amdzen4", "Zen 4"},
    {"amdzen5", "Zen 5"},
};

}  // namespace

Core CoreOfCpuinfo(absl::string_view text) {
  Core core;
  if (!absl::SimpleAtoi(ValueOf("cpu family", text), &core.family) ||
      !absl::SimpleAtoi(ValueOf("model", text), &core.model) ||
      !absl::SimpleAtoi(ValueOf("stepping", text), &core.stepping)) {
    return core;
  }
  const absl::string_view vendor = ValueOf("vendor_id", text);
  if (vendor == "GenuineIntel") core.vendor = pmu::Vendor::kIntel;
  if (vendor == "AuthenticAMD") core.vendor = pmu::Vendor::kAmd;
  return core;
}

const char* CodeNameOf(const Core& core) {
  const std::string_view list = ListOfModel(core);
  for (const auto& [of_list, name] : kNames) {
    if (of_list == list) return name;
  }
  return "";
}

}  // namespace fleetperf::events
