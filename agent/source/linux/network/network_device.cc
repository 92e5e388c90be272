#include "agent/source/linux/network/network_device.h"

#include <iterator>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/text.h"

namespace fleetperf::agent {
namespace {

using perflib::kLinuxPerfFreq;

constexpr uint64_t kBitsPerMegabit = 1'000'000;

struct File {
  absl::string_view name;
  int64_t lifetime = 10 * kLinuxPerfFreq;
};

// In the order of NetworkDevice::Attribute. Some drivers are slow to report
// speed and duplex.
constexpr File kFiles[] = {{"ifindex"},
                           {"speed", 30 * kLinuxPerfFreq},
                           {"duplex", 30 * kLinuxPerfFreq},
                           {"carrier"},
                           {"operstate"},
                           {"carrier_changes"},
                           {"carrier_down_count"},
                           {"statistics/rx_nohandler"},
                           {"statistics/rx_missed_errors"},
                           {"statistics/rx_crc_errors"}};
static_assert(std::size(kFiles) == NetworkDevice::kNumAttributes);

// Their positions are the numbers.
constexpr absl::string_view kDuplexNames[] = {"half", "full"};
constexpr absl::string_view kOperationalStates[] = {
    "unknown", "notpresent", "down", "lowerlayerdown",
    "testing", "dormant",    "up"};

template <size_t kSize>
std::optional<uint64_t> PositionOf(absl::string_view text,
                                   const absl::string_view (&names)[kSize]) {
  const absl::string_view name = absl::StripSuffix(text, "\n");
  for (size_t i = 0; i < kSize; ++i) {
    if (names[i] == name) return i;
  }
  return std::nullopt;
}

// Drivers print 0 or -1 for a speed that they do not know, kernels
// before 2.6.39 -1 in 16 bits.
std::optional<uint64_t> ParseSpeed(absl::string_view text) {
  const std::optional<uint64_t> megabits = NextNumber(&text);
  if (megabits == 0 || megabits == 0xFFFF) return std::nullopt;
  return Times(megabits, kBitsPerMegabit);
}

std::optional<uint64_t> Parse(NetworkDevice::Attribute attribute,
                              absl::StatusOr<absl::string_view> text) {
  switch (attribute) {
    case NetworkDevice::kSpeed:
      return text.ok() ? ParseSpeed(*text) : std::nullopt;
    case NetworkDevice::kFullDuplex:
      return PositionOf(text.value_or(""), kDuplexNames);
    case NetworkDevice::kOperationalState:
      return PositionOf(text.value_or(""), kOperationalStates);
    case NetworkDevice::kLinkUp:
      // The kernel refuses to read the carrier of an interface that is off.
      if (!text.ok() && !absl::IsNotFound(text.status())) return 0;
      break;
    default:
      break;
  }
  return text.ok() ? NextNumber(&*text) : std::nullopt;
}

}  // namespace

NetworkDevice::NetworkDevice(const std::string& root, absl::string_view name)
    : directory_(absl::StrCat(root, "/sys/class/net/", name, "/")) {}

std::optional<uint64_t> NetworkDevice::Read(Attribute attribute,
                                            const perflib::Clocks& clocks) {
  const File& file = kFiles[attribute];
  auto& [read_at, value] = readings_[attribute];
  if (!read_at.has_value() ||
      clocks.perf_time_stamp - *read_at >= file.lifetime) {
    read_at = clocks.perf_time_stamp;
    std::string buffer;
    value = Parse(attribute, ProcFile(absl::StrCat(directory_, file.name),
                                      ProcFile::Kind::kSmall)
                                 .Read(&buffer));
  }
  return value;
}

}  // namespace fleetperf::agent
