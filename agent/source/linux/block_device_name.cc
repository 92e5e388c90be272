#include "agent/source/linux/block_device_name.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "agent/source/linux/disk_counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/text.h"
#include "base/files.h"

namespace fleetperf::agent {

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

bool IsWholeDisk(const std::string& root, absl::string_view name) {
  // Partitions have no directory in /sys/block.
  return !IsLayeredDevice(name) &&
         FileExists(absl::StrCat(root, "/sys/block/",
                                 absl::StrReplaceAll(name, {{"/", "!"}})));
}

}  // namespace fleetperf::agent
