#include "driver/hardware/linux/model_events.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace fleetperf::hardware {
namespace {

// Models of Intel's family 6 with one PMU, called "cpu": Skylake to Rocket
// Lake, and the servers up to Granite Rapids.
constexpr int kSkylakeAndLater[] = {
    0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6,        // Skylake to Comet Lake
    0x66, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7,        // Cannon to Rocket Lake
    0x55, 0x6a, 0x6c, 0x8f, 0xcf, 0xad, 0xae,  // servers
};

// The value of the first line "KEY : VALUE" of /proc/cpuinfo.
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

std::optional<L2Events> FindL2Events(perf_event::System& system) {
  const auto text = system.ReadFile("/proc/cpuinfo");
  int model;
  if (!text.ok() || ValueOf("vendor_id", *text) != "GenuineIntel" ||
      ValueOf("cpu family", *text) != "6" ||
      !absl::SimpleAtoi(ValueOf("model", *text), &model) ||
      std::find(std::begin(kSkylakeAndLater), std::end(kSkylakeAndLater),
                model) == std::end(kSkylakeAndLater)) {
    return std::nullopt;
  }
  return L2Events{.hits = "cpu/event=0xd1,umask=0x02/",
                  .misses = "cpu/event=0xd1,umask=0x10/"};
}

}  // namespace fleetperf::hardware
