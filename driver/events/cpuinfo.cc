#include "driver/events/cpuinfo.h"

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

}  // namespace fleetperf::events
