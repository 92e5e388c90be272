#include "agent/source/linux/disk/block_device_name.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "base/os/files.h"

namespace fleetperf::agent {
namespace {

constexpr absl::string_view kLayeredPrefixes[] = {
    "loop", "ram", "zram", "dm-", "md", "bcache", "drbd", "zd", "sr", "fd"};

std::string DirectoryOf(const std::string& root, absl::string_view name) {
  return absl::StrCat(root, "/sys/block/",
                      absl::StrReplaceAll(name, {{"/", "!"}}));
}

// Removes "nvme0" from the front of `text`, for the prefix "nvme", and sets
// `removed` to it, unless that is null. Returns false if it is not there.
bool ConsumeNumbered(absl::string_view prefix, absl::string_view* text,
                     std::string* removed) {
  const absl::string_view before = *text;
  if (!absl::ConsumePrefix(text, prefix)) return false;
  const size_t digits =
      std::min(text->find_first_not_of("0123456789"), text->size());
  if (digits == 0) return false;
  text->remove_prefix(digits);
  if (removed != nullptr) {
    *removed = std::string(before.substr(0, prefix.size() + digits));
  }
  return true;
}

}  // namespace

std::string BlockDeviceName(const std::string& root, uint32_t device) {
  ProcFile file(absl::StrCat(root, "/sys/dev/block/", MajorNumber(device), ":",
                             MinorNumber(device), "/uevent"),
                ProcFile::Kind::kSmall);
  std::string buffer;
  auto text = file.Read(&buffer);
  if (!text.ok()) return "";
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    if (absl::ConsumePrefix(&line, "DEVNAME=")) return std::string(line);
  }
  return "";
}

bool IsLayeredDevice(const std::string& root, absl::string_view name) {
  return std::any_of(std::begin(kLayeredPrefixes), std::end(kLayeredPrefixes),
                     [&](absl::string_view prefix) {
                       return absl::StartsWith(name, prefix);
                     }) ||
         !ListNames(DirectoryOf(root, name) + "/slaves").empty();
}

bool IsWholeDisk(const std::string& root, absl::string_view name) {
  // Partitions have no directory in /sys/block.
  return FileExists(DirectoryOf(root, name)) && !IsLayeredDevice(root, name);
}

std::string NvmeHeadOfPath(absl::string_view name) {
  std::string subsystem;
  std::string space;
  return ConsumeNumbered("nvme", &name, &subsystem) &&
                 ConsumeNumbered("c", &name, nullptr) &&
                 ConsumeNumbered("n", &name, &space) && name.empty()
             ? subsystem + space
             : "";
}

std::string NvmeHeadOfPartition(absl::string_view name) {
  std::string subsystem;
  std::string space;
  return ConsumeNumbered("nvme", &name, &subsystem) &&
                 ConsumeNumbered("n", &name, &space) &&
                 ConsumeNumbered("p", &name, nullptr) && name.empty()
             ? subsystem + space
             : "";
}

}  // namespace fleetperf::agent
