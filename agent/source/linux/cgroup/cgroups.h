// The cgroups and their files, which Linux Cgroup and Job Object share.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUPS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/source/instance_selection.h"
#include "agent/source/linux/cgroup/device_sums.h"
#include "agent/source/linux/optional_file.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/provider.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

enum class CgroupFile : uint8_t {
  kCpuStat,
  kCpuMax,
  kMemoryCurrent,
  kMemoryPeak,
  kMemoryMax,
  kMemorySwapCurrent,
  kMemoryEvents,
  kMemoryStat,
  kIoStat,
  kPidsCurrent,
  kPidsMax,
  kPidsEvents,
  kCpuPressure,
  kMemoryPressure,
  kIoPressure,
  // Version 1, by controller.
  kV1CpuStat,
  kV1CpuQuota,
  kV1CpuPeriod,
  kV1CpuacctUsage,
  kV1CpuacctStat,
  kV1MemoryUsage,
  kV1MemoryMaxUsage,
  kV1MemoryLimit,
  kV1MemoryFailures,
  kV1MemoryOomControl,
  kV1MemoryStat,
  kV1KernelMemory,
  kV1IoBytes,
  kV1IoOperations,
  kV1OwnIoBytes,
  kV1OwnIoOperations,
  kV1PidsCurrent,
  kV1PidsMax,
};
inline constexpr size_t kNumCgroupFiles = 33;

struct Cgroup {
  std::string path;        // "/system.slice/nginx.service"; "/" for the root
  std::string directory;   // in one of the hierarchies
  std::string utf16_name;  // CgroupName
  uint64_t id = 0;         // the directory's inode: differs when created again
  bool has_children = false;
  std::array<std::unique_ptr<OptionalFile>, kNumCgroupFiles> files = {};
  DeviceSums io;             // of version 1, only bytes
  DeviceSums io_operations;  // of version 1
};

// Thread-compatible.
class Cgroups {
 public:
  // Enough for 5,000 containers in pods, with cgroups of their own.
  static constexpr size_t kMaxCgroups = 20'000;

  // `root` is the directory that holds sys: "" on a real machine. More files
  // than `max_open_files` are opened for each read. More cgroups than
  // `max_cgroups` are left out, the deepest first.
  Cgroups(const std::string& root, size_t max_open_files,
          size_t max_cgroups = kMaxCgroups)
      : root_(root),
        max_open_files_(max_open_files),
        max_cgroups_(max_cgroups) {}

  // Drops the cgroups that vanished and, every ten seconds, finds new ones.
  // Does nothing of that if it was called with these clocks before. `sample`
  // notes cgroups that are left out.
  void Update(const perflib::Clocks& clocks, CountersetSample* sample);

  // The instances that the countersets' plan wants, by the names of cgroups.
  // all() has no others, and those below an excluded one are not looked for;
  // the root is always there.
  const std::shared_ptr<SharedSelection>& selection() const {
    return selection_;
  }

  // A path is one cgroup, even if several hierarchies have it.
  std::vector<Cgroup>& all() { return cgroups_; }

  // Whether the controllers have hierarchies of version 1. There can be one of
  // version 2 besides (hybrid). Then values of version 1 have precedence: a
  // process can be in different cgroups of both, and all values of a cgroup
  // should be those of the same processes.
  bool has_version1() const { return has_version1_; }

  // Returns the contents of a file, or std::nullopt if the cgroup does not have
  // it: its controller is not enabled, or the kernel is too old.
  std::optional<absl::string_view> Read(Cgroup& cgroup, CgroupFile file,
                                        const perflib::Clocks& clocks,
                                        std::string* buffer);

 private:
  void FindHierarchies();
  void List();
  // Returns the cgroup's directory, or "" if it vanished.
  std::string DirectoryOf(const std::string& path) const;
  // Returns the paths of the cgroups below, in any hierarchy.
  std::vector<std::string> Children(const std::string& path) const;
  std::string PathOf(const Cgroup& cgroup, CgroupFile file) const;
  void DropVanished();
  void CloseFiles(Cgroup& cgroup);

  const std::string root_;
  const size_t max_open_files_;
  const size_t max_cgroups_;
  std::string version2_;  // its hierarchy, or ""
  bool has_version1_ = false;
  std::vector<std::string> hierarchies_;  // that are searched for cgroups
  std::vector<Cgroup> cgroups_;
  uint64_t left_out_ = 0;  // by the last list
  size_t open_files_ = 0;
  Periodic list_{/*seconds=*/10};
  const std::shared_ptr<SharedSelection> selection_ =
      std::make_shared<SharedSelection>();
  uint64_t selected_ = 0;  // the generation of selection_ of the last list
  std::optional<int64_t> updated_at_;  // PerfTimeStamp
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_CGROUP_CGROUPS_H_
