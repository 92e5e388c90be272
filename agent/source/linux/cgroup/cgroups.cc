#include "agent/source/linux/cgroup/cgroups.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/cgroup/cgroup_name.h"
#include "agent/source/linux/sysfs.h"
#include "base/os/files.h"
#include "perflib/utf16.h"

namespace fleetperf::agent {
namespace {

struct FileInfo {
  absl::string_view controller;  // of version 1
  absl::string_view name;
  ProcFile::Kind kind = ProcFile::Kind::kSmall;
};

// In the order of CgroupFile.
constexpr FileInfo kFiles[] = {
    {"", "cpu.stat"},
    {"", "cpu.max"},
    {"", "memory.current"},
    {"", "memory.peak"},
    {"", "memory.max"},
    {"", "memory.swap.current"},
    {"", "memory.events"},
    {"", "memory.stat", ProcFile::Kind::kWhole},
    {"", "io.stat", ProcFile::Kind::kWhole},
    {"", "pids.current"},
    {"", "pids.max"},
    {"", "pids.events"},
    {"", "cpu.pressure"},
    {"", "memory.pressure"},
    {"", "io.pressure"},
    {"cpu", "cpu.stat"},
    {"cpu", "cpu.cfs_quota_us"},
    {"cpu", "cpu.cfs_period_us"},
    {"cpuacct", "cpuacct.usage"},
    {"cpuacct", "cpuacct.stat"},
    {"memory", "memory.usage_in_bytes"},
    {"memory", "memory.max_usage_in_bytes"},
    {"memory", "memory.limit_in_bytes"},
    {"memory", "memory.failcnt"},
    {"memory", "memory.oom_control"},
    {"memory", "memory.stat", ProcFile::Kind::kWhole},
    {"memory", "memory.kmem.usage_in_bytes"},
    {"blkio", "blkio.throttle.io_service_bytes_recursive",
     ProcFile::Kind::kWhole},
    {"blkio", "blkio.throttle.io_serviced_recursive", ProcFile::Kind::kWhole},
    {"blkio", "blkio.throttle.io_service_bytes", ProcFile::Kind::kWhole},
    {"blkio", "blkio.throttle.io_serviced", ProcFile::Kind::kWhole},
    {"pids", "pids.current"},
    {"pids", "pids.max"},
};
static_assert(std::size(kFiles) == kNumCgroupFiles);

// The controllers of version 1 whose hierarchies are searched.
constexpr absl::string_view kSearchedControllers[] = {"memory", "cpuacct",
                                                      "pids"};

// Returns 0 if there is no such directory.
uint64_t InodeOf(const std::string& path) {
  struct stat information = {};
  return stat(path.c_str(), &information) == 0 ? information.st_ino : 0;
}

}  // namespace

void Cgroups::Update(const perflib::Clocks& clocks, CountersetSample* sample) {
  if (std::exchange(updated_at_, clocks.perf_time_stamp) !=
      clocks.perf_time_stamp) {
    if (selected_ != selection_->generation()) list_.MakeDue();
    if (list_.IsDue(clocks)) {
      List();
    } else {
      DropVanished();
    }
  }
  if (left_out_ == 0) return;
  sample->LeaveOut(left_out_, absl::StrCat("there are more than ", max_cgroups_,
                                           " cgroups; the deepest are absent"));
}

void Cgroups::FindHierarchies() {
  const std::string mounts = root_ + "/sys/fs/cgroup";
  const auto is_version2 = [](const std::string& path) {
    return FileExists(path + "/cgroup.controllers");
  };
  version2_.clear();
  has_version1_ = false;
  hierarchies_.clear();
  if (is_version2(mounts)) {
    version2_ = mounts;
    hierarchies_.push_back(version2_);
    return;
  }
  if (is_version2(mounts + "/unified")) {
    version2_ = mounts + "/unified";
    hierarchies_.push_back(version2_);
  }
  for (const absl::string_view controller : kSearchedControllers) {
    std::string path = absl::StrCat(mounts, "/", controller);
    if (!FileExists(path)) continue;
    has_version1_ = true;
    hierarchies_.push_back(std::move(path));
  }
}

// Breadth first, so that a limit leaves out the deepest.
void Cgroups::List() {
  absl::flat_hash_map<std::string, Cgroup> known;
  for (Cgroup& cgroup : cgroups_) {
    std::string path = cgroup.path;
    known.emplace(std::move(path), std::move(cgroup));
  }
  cgroups_.clear();
  selected_ = selection_->generation();
  const bool selects = !selection_->ContainsAll();
  left_out_ = 0;
  FindHierarchies();
  std::vector<std::string> paths = {"/"};
  for (size_t i = 0; i < paths.size(); ++i) {
    const std::string path = paths[i];
    const std::string directory = DirectoryOf(path);
    if (directory.empty()) continue;
    const uint64_t id = InodeOf(directory);
    const auto found = known.find(path);
    if (found != known.end() && found->second.id == id) {
      cgroups_.push_back(std::move(found->second));
      cgroups_.back().has_children = false;
      known.erase(found);
    } else {
      cgroups_.push_back(
          {.path = path,
           .directory = directory,
           .utf16_name = perflib::Utf16FromUtf8(CgroupName(path)),
           .id = id});
    }
    for (std::string& child : Children(path)) {
      cgroups_.back().has_children = true;
      if (selects && selection_->Excludes(CgroupName(child))) continue;
      if (paths.size() < max_cgroups_) {
        paths.push_back(std::move(child));
      } else {
        ++left_out_;
      }
    }
  }
  for (auto& [path, cgroup] : known) CloseFiles(cgroup);
  if (!selects) return;
  std::erase_if(cgroups_, [this](Cgroup& cgroup) {
    if (cgroup.path == "/" || selection_->Contains(CgroupName(cgroup.path))) {
      return false;
    }
    CloseFiles(cgroup);
    return true;
  });
}

std::string Cgroups::DirectoryOf(const std::string& path) const {
  for (const std::string& hierarchy : hierarchies_) {
    std::string directory = hierarchy + path;
    if (InodeOf(directory) != 0) return directory;
  }
  return "";
}

std::vector<std::string> Cgroups::Children(const std::string& path) const {
  const std::string parent = path == "/" ? "" : path;
  std::vector<std::string> children;
  for (const std::string& hierarchy : hierarchies_) {
    for (const std::string& name : ListSubdirectories(hierarchy + path)) {
      children.push_back(absl::StrCat(parent, "/", name));
    }
  }
  std::sort(children.begin(), children.end());
  children.erase(std::unique(children.begin(), children.end()), children.end());
  return children;
}

void Cgroups::DropVanished() {
  const auto vanished = [this](Cgroup& cgroup) {
    const uint64_t id = InodeOf(cgroup.directory);
    if (id == cgroup.id) return false;
    CloseFiles(cgroup);
    cgroup.id = id;  // it may have been created again
    cgroup.io = {};
    cgroup.io_operations = {};
    return id == 0;
  };
  cgroups_.erase(std::remove_if(cgroups_.begin(), cgroups_.end(), vanished),
                 cgroups_.end());
}

void Cgroups::CloseFiles(Cgroup& cgroup) {
  for (std::unique_ptr<OptionalFile>& file : cgroup.files) {
    if (file != nullptr && file->is_open()) --open_files_;
    file.reset();
  }
}

std::string Cgroups::PathOf(const Cgroup& cgroup, CgroupFile file) const {
  const FileInfo& info = kFiles[static_cast<size_t>(file)];
  return info.controller.empty()
             ? absl::StrCat(version2_, cgroup.path, "/", info.name)
             : absl::StrCat(root_, "/sys/fs/cgroup/", info.controller,
                            cgroup.path, "/", info.name);
}

std::optional<absl::string_view> Cgroups::Read(Cgroup& cgroup, CgroupFile file,
                                               const perflib::Clocks& clocks,
                                               std::string* buffer) {
  const bool is_version2 = file < CgroupFile::kV1CpuStat;
  if (is_version2 ? version2_.empty() : !has_version1_) return std::nullopt;
  const auto index = static_cast<size_t>(file);
  std::unique_ptr<OptionalFile>& opened = cgroup.files[index];
  if (opened == nullptr) {
    opened = std::make_unique<OptionalFile>(PathOf(cgroup, file),
                                            kFiles[index].kind);
  }
  open_files_ -= opened->is_open() ? 1 : 0;
  const std::optional<absl::string_view> text = opened->Read(clocks, buffer);
  if (open_files_ == max_open_files_) opened->Close();
  open_files_ += opened->is_open() ? 1 : 0;
  return text;
}

}  // namespace fleetperf::agent
