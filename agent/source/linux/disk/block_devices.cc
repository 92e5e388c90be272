#include "agent/source/linux/disk/block_devices.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/disk/block_device_name.h"
#include "agent/source/linux/noted_file.h"
#include "agent/source/linux/sysfs.h"
#include "agent/source/linux/text.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {

uint32_t IdOfName(absl::string_view name) {
  constexpr uint64_t kUnusedMajorNumber = 0xFFF;
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return DeviceNumber(kUnusedMajorNumber, (hash ^ hash >> 32) & 0xFFFFF);
}

BlockDevices::BlockDevices(const std::string& root)
    : root_(root), file_(root + "/proc/diskstats") {}

void BlockDevices::Update(const perflib::Clocks& clocks,
                          CountersetSample* sample) {
  if (clocks == read_at_) return;
  read_at_ = {};
  ++pass_;
  all_.clear();
  bound_.BeforeRead();
  auto text = ReadOrNote(file_, &buffer_, sample);
  if (!text.has_value()) return;
  read_at_ = clocks;
  bound_.AfterRead(clocks);
  absl::string_view line;
  while (NextLine(&*text, &line)) {
    const std::optional<uint64_t> major = NextNumber(&line);
    const std::optional<uint64_t> minor = NextNumber(&line);
    const absl::string_view name = NextWord(&line);
    if (!major.has_value() || !minor.has_value() || name.empty()) continue;
    BlockDevice* const device = Add(DeviceNumber(*major, *minor), name);
    if (device == nullptr) continue;
    all_.push_back(device);
    if (device->counts.Update(line, clocks, bound_)) {
      device->life = ++lives_;
      // A number that is used again can mean another map of the device mapper.
      device->utf16_name.clear();
    }
  }
  absl::erase_if(by_id_, [this](const auto& entry) {
    const bool is_gone = entry.second->pass != pass_;
    must_link_ = must_link_ || is_gone;
    return is_gone;
  });
  if (std::exchange(must_link_, false)) Link();
  for (BlockDevice* const device : all_) {
    if (!device->paths.empty() || device->of_namespace.has_value()) {
      CountNamespace(clocks, device);
    }
  }
}

// Returns null if another line of this pass has the same number.
BlockDevice* BlockDevices::Add(uint32_t number, absl::string_view name) {
  const uint32_t id = number != 0 ? number : IdOfName(name);
  std::unique_ptr<BlockDevice>& device = by_id_[id];
  if (device != nullptr && device->pass == pass_) {
    log_.Warn(absl::StrCat("disk ", name),
              absl::StrCat(file_.path(), ": ", name, " has the number ",
                           MajorNumber(id), ":", MinorNumber(id), " of ",
                           device->name, ", so ", name, " is left out"));
    return nullptr;
  }
  if (device == nullptr || device->name != name) {
    device = std::make_unique<BlockDevice>();
    device->name = std::string(name);
    device->id = id;
    device->is_disk = IsWholeDisk(root_, name);
    must_link_ = true;
  }
  device->pass = pass_;
  return device.get();
}

void BlockDevices::Link() {
  absl::flat_hash_map<absl::string_view, BlockDevice*> by_name;
  for (BlockDevice* const device : all_) {
    if (!absl::StartsWith(device->name, "nvme")) continue;
    device->paths.clear();
    device->partitions.clear();
    device->partition_of = nullptr;
    by_name[device->name] = device;
  }
  const auto find = [&](const std::string& name) -> BlockDevice* {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  };
  for (auto& [name, device] : by_name) {
    if (BlockDevice* const head = find(NvmeHeadOfPath(name))) {
      head->paths.push_back(device);
      device->is_disk = false;
    }
    if (BlockDevice* const head = find(NvmeHeadOfPartition(name))) {
      head->partitions.push_back(device);
      device->partition_of = head;
    }
  }
}

// If the kernel counts a request at the head and at a path, it counts once.
void BlockDevices::CountNamespace(const perflib::Clocks& clocks,
                                  BlockDevice* head) {
  std::vector<const DiskCounts*> parts;
  if (head->counts.HasTransfers()) {
    parts.push_back(&head->counts);
  } else {
    for (const BlockDevice* path : head->paths) parts.push_back(&path->counts);
  }
  if (!head->of_namespace.has_value()) head->of_namespace.emplace();
  head->of_namespace->AddGrowth(parts, clocks);
}

BlockDevice* BlockDevices::Find(uint32_t device) {
  const auto found = by_id_.find(device);
  const bool is_there = found != by_id_.end() && found->second->pass == pass_;
  return is_there ? found->second.get() : nullptr;
}

const std::string& BlockDevices::Utf16Name(BlockDevice& device) {
  if (device.utf16_name.empty()) {
    std::string map;
    if (absl::StartsWith(device.name, "dm-")) {
      map = ReadFirstLine(
          absl::StrCat(root_, "/sys/block/", device.name, "/dm/name"));
    }
    device.utf16_name = perflib::Utf16FromUtf8(map.empty() ? device.name : map);
  }
  return device.utf16_name;
}

const DiskCounts* BlockDevices::CountsOf(const BlockDevice& device) {
  if (device.of_namespace.has_value()) return &*device.of_namespace;
  const BlockDevice* const head = device.partition_of;
  const bool counts_itself = head == nullptr ||
                             !head->of_namespace.has_value() ||
                             device.counts.HasTransfers();
  if (counts_itself) return &device.counts;
  return head->partitions.size() == 1 ? CountsOf(*head) : nullptr;
}

}  // namespace fleetperf::agent
