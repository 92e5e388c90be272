// A day of a machine on which processes, cgroups, disks, filesystems, arrays,
// interfaces, RDMA ports and CPUs come and go: the agent's memory and
// descriptors stay.

#include <malloc.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <utility>

#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::Reading;

// Things of one kind. The oldest ends first.
class Population {
 public:
  Population(std::function<void(uint32_t)> begin,
             std::function<void(uint32_t)> end)
      : begin_(std::move(begin)), end_(std::move(end)) {}

  void Grow(size_t count) {
    for (; count > 0; --count) {
      begin_(lives_);
      alive_.push_back(lives_++);
    }
  }
  void Shrink(size_t count) {
    for (; count > 0 && !alive_.empty(); --count) {
      end_(alive_.front());
      alive_.pop_front();
    }
  }
  void Resize(size_t size) {
    if (size > alive_.size()) Grow(size - alive_.size());
    Shrink(alive_.size() - size);
  }

  const std::deque<uint32_t>& alive() const { return alive_; }

 private:
  const std::function<void(uint32_t)> begin_;
  const std::function<void(uint32_t)> end_;
  std::deque<uint32_t> alive_;
  uint32_t lives_ = 0;  // so far
};

class MachineChurnTest : public testing::ProcessFixture {
 protected:
  static constexpr size_t kMost = 12;  // of a kind at a time
  static constexpr size_t kRest = 6;

  MachineChurnTest() {
    max_open_files_ = 60;
    ask_for_space_ = [](const std::string&) {
      return FilesystemSpace{.bytes = 1000, .free_bytes = 500};
    };
    Write("proc/meminfo", "MemTotal: 100 kB\nMemFree: 50 kB\n");
    Write("proc/vmstat", "pgfault 7\nthp_fault_alloc 1\n");
    WriteCgroup("");
  }

  // Every second thing has the name of an earlier one.
  static uint32_t NumberOf(uint32_t life) {
    return life % 2 == 0 ? life % (4 * kMost) : 1000 + life;
  }

  // One instance per life of Process V2 and Linux Cgroup Process.
  Population processes_{
      [this](uint32_t life) {
        const uint32_t pid = 1000 + NumberOf(life);
        const std::string name = absl::StrCat("p", NumberOf(life));
        const std::string stat = StatLine(
            pid,
            {.name = name, .user_jiffies = 3, .start_jiffies = 1000 + life});
        WriteFile(pid, "stat", stat);
        WriteFile(pid, absl::StrCat("task/", pid, "/stat"), stat);
        WriteFile(pid, "cmdline", "/bin/" + name);
        WriteFile(pid, "cgroup", "0::/" + name + ".service\n");
        WriteFile(pid, "status",
                  "VmHWM: 5 kB\nvoluntary_ctxt_switches: 1\n"
                  "nonvoluntary_ctxt_switches: 1\n");
        WriteFile(pid, "io", "rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\n");
        WriteFile(pid, "schedstat", "1 2 3\n");
      },
      [this](uint32_t life) { EndProcess(1000 + NumberOf(life)); }};

  Population cgroups_{
      [this](uint32_t life) { WriteCgroup(CgroupOf(life)); },
      [this](uint32_t life) { Remove("sys/fs/cgroup" + CgroupOf(life)); }};

  static std::string CgroupOf(uint32_t life) {
    return absl::StrCat("/c", NumberOf(life), ".slice");
  }
  void WriteCgroup(const std::string& path) {
    const auto write = [&](const std::string& file, absl::string_view text) {
      Write("sys/fs/cgroup" + path + "/" + file, text);
    };
    write("cgroup.controllers", "cpu io memory pids\n");
    write("cpu.stat", "usage_usec 5\n");
    write("memory.current", "4096\n");
    write("memory.stat", "anon 5\n");
    write("io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n");
    write("pids.current", "1\n");
  }

  // A disk has a partition, which is mounted, an interrupt and a sensor.
  Population disks_{
      [this](uint32_t life) {
        const std::string name = DiskOf(life);
        Write("sys/block/" + name + "/size", "1\n");
        Write(absl::StrCat("sys/dev/block/259:", 2 * NumberOf(life) + 1,
                           "/uevent"),
              "DEVNAME=" + name + "p1\n");
        Write("sys/fs/ext4/" + name + "p1/errors_count", "1\n");
        const std::string chip =
            absl::StrCat("sys/class/hwmon/hwmon", NumberOf(life));
        Write(chip + "/name", name + "\n");
        Write(chip + "/temp1_input", "30000\n");
      },
      [this](uint32_t life) {
        Remove("sys/block/" + DiskOf(life));
        Remove(absl::StrCat("sys/dev/block/259:", 2 * NumberOf(life) + 1));
        Remove("sys/fs/ext4/" + DiskOf(life) + "p1");
        Remove(absl::StrCat("sys/class/hwmon/hwmon", NumberOf(life)));
      }};

  static std::string DiskOf(uint32_t life) {
    return absl::StrCat("nvme", NumberOf(life), "n1");
  }

  Population interfaces_{
      [this](uint32_t life) {
        const std::string directory = "sys/class/net/" + InterfaceOf(life);
        Write(directory + "/ifindex", absl::StrCat(2 + life, "\n"));
        Write(directory + "/speed", "1000\n");
      },
      [this](uint32_t life) { Remove("sys/class/net/" + InterfaceOf(life)); }};

  static std::string InterfaceOf(uint32_t life) {
    return absl::StrCat("veth", NumberOf(life));
  }

  Population arrays_{[this](uint32_t life) {
                       const std::string directory = ArrayOf(life);
                       Write(directory + "/dev",
                             absl::StrCat("9:", NumberOf(life), "\n"));
                       Write(directory + "/md/array_state", "active\n");
                       Write(directory + "/md/raid_disks", "2\n");
                       Write(directory + "/md/sync_action", "check\n");
                       Write(directory + "/md/sync_completed", "1 / 2\n");
                       Write(directory + "/md/dev-sda1/state", "in_sync\n");
                     },
                     [this](uint32_t life) { Remove(ArrayOf(life)); }};

  static std::string ArrayOf(uint32_t life) {
    return absl::StrCat("sys/block/md", NumberOf(life));
  }

  Population adapters_{[this](uint32_t life) {
                         const std::string port = AdapterOf(life) + "/ports/1/";
                         Write(port + "state", "4: ACTIVE\n");
                         Write(port + "counters/port_rcv_data", "1\n");
                         Write(port + "hw_counters/out_of_buffer", "2\n");
                       },
                       [this](uint32_t life) { Remove(AdapterOf(life)); }};

  static std::string AdapterOf(uint32_t life) {
    return absl::StrCat("sys/class/infiniband/mlx5_", NumberOf(life));
  }

  Population servers_{[](uint32_t) {}, [](uint32_t) {}};  // of NFS
  Population cpus_{[](uint32_t) {}, [](uint32_t) {}};     // besides CPU 0

  // A machine has a fixed number of places for CPUs.
  static uint32_t CpuOf(uint32_t life) { return 1 + life % (2 * kMost); }

  // The files with a line for each thing.
  void WriteTables() {
    std::string mounts;
    std::string diskstats;
    std::string interrupts = "           CPU0\n";
    for (const uint32_t life : disks_.alive()) {
      const std::string name = DiskOf(life);
      const uint32_t minor = 2 * NumberOf(life);
      absl::StrAppend(&diskstats, "259 ", minor, " ", name,
                      " 1 2 3 4 5 6 7 8 9 10 11\n259 ", minor + 1, " ", name,
                      "p1 1 2 3 4 5 6 7 8 9 10 11\n");
      absl::StrAppend(&mounts, "1 2 259:", minor + 1, " / /disks/", name,
                      " rw - ext4 /dev/", name, "p1 rw\n");
      absl::StrAppend(&interrupts, NumberOf(life), ": 5 PCI-MSI 1-edge ", name,
                      "q0\n");
    }
    std::string mountstats;
    for (const uint32_t life : servers_.alive()) {
      const uint32_t number = NumberOf(life);
      absl::StrAppend(&mounts, "1 2 0:", number, " / /nfs/", number,
                      " rw - nfs4 server:/", number, " rw\n");
      absl::StrAppend(&mountstats, "device server:/", number,
                      " mounted on /nfs/", number,
                      " with fstype nfs4 statvers=1.1\n\tage:\t", life,
                      "\n\tbytes:\t1 2 3 4 5 6 7 8\n\tper-op statistics\n"
                      "\tREAD: 1 1 0 1 1 0 1 1 0\n");
    }
    std::string dev;
    for (const uint32_t life : interfaces_.alive()) {
      absl::StrAppend(&dev, InterfaceOf(life),
                      ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
    }
    constexpr char kTimes[] = " 5 0 5 90 0 0 0 0 0 0\n";
    std::string stat = absl::StrCat("cpu ", kTimes, "cpu0", kTimes);
    std::string schedstat = "version 15\ncpu0 0 0 0 0 0 0 1 2 3\n";
    std::string online = "0";
    std::set<uint32_t> numbers;
    for (const uint32_t life : cpus_.alive()) numbers.insert(CpuOf(life));
    for (const uint32_t number : numbers) {
      absl::StrAppend(&stat, "cpu", number, kTimes);
      absl::StrAppend(&schedstat, "cpu", number, " 0 0 0 0 0 0 1 2 3\n");
      absl::StrAppend(&online, ",", number);
    }
    absl::StrAppend(&stat, "ctxt 10\nbtime 1000\nprocesses 20\n",
                    "procs_running 1\n");
    Write("proc/stat", stat);
    Write("proc/schedstat", schedstat);
    Write("proc/softirqs", "  CPU0\n HI: 4\n");
    Write("sys/devices/system/cpu/online", online + "\n");
    Write("sys/devices/system/cpu/present",
          absl::StrCat("0-", 2 * kMost, "\n"));
    Write("proc/self/mountinfo", mounts);
    Write("proc/self/mountstats", mountstats);
    Write("proc/diskstats", diskstats);
    Write("proc/interrupts", interrupts);
    Write("proc/net/dev", dev);
  }

  Population* const populations_[8] = {&processes_, &cgroups_,  &disks_,
                                       &arrays_,    &adapters_, &interfaces_,
                                       &servers_,   &cpus_};
};

// What the agent holds.
struct Footprint {
  size_t bytes;
  ptrdiff_t descriptors;
};

Footprint FootprintNow() {
  const struct mallinfo2 heap = mallinfo2();
  // Large blocks, such as a long hash table, are mapped and not in the heap.
  return {.bytes = heap.uordblks + heap.hblkhd,
          .descriptors = std::distance(
              std::filesystem::directory_iterator("/proc/self/fd"), {})};
}

TEST_F(MachineChurnTest, ADayLeavesNothing) {
  constexpr int kTicks = 24 * 20;  // one every three minutes
  // Of each kind, at a tick. About 360 things with new names come in half a
  // day: a table that keeps them all, with 16 bytes for each, grows by more
  // than the bound.
  constexpr uint32_t kMaxChanges = 6;
  std::vector<std::unique_ptr<QueryHandle>> handles;
  for (const auto& registration : registrations()) {
    if (registration.name == "Linux Perf") continue;  // needs named counters
    std::vector<uint32_t> ids = {perflib::kWildcardCounter};
    if (registration.name == testing::kProcesses) {
      // The expensive ones must be named.
      for (const auto& counter : registration.counters) {
        ids.push_back(counter.counter_id);
      }
    }
    handles.push_back(Open(registration.name, ids));
  }
  std::mt19937 random(1);
  std::string block;
  const auto tick = [&] {
    WriteTables();
    clock_.Advance(absl::Minutes(3));
    for (const auto& handle : handles) {
      EXPECT_OK(handle->QueryCounterData(&block));
    }
  };
  const auto resize = [&](size_t size) {
    for (Population* population : populations_) population->Resize(size);
    tick();
  };
  const auto half_a_day = [&] {
    resize(kMost);
    for (int i = 0; i < kTicks / 2; ++i) {
      for (Population* population : populations_) {
        population->Shrink(random() % (kMaxChanges + 1));
        const size_t places = kMost - population->alive().size();
        population->Grow(
            std::min<size_t>(random() % (kMaxChanges + 1), places));
      }
      tick();
    }
    for (int i = 0; i < 3; ++i) resize(kRest);
    return FootprintNow();
  };
  const Footprint noon = half_a_day();
  const Footprint midnight = half_a_day();
  EXPECT_LE(midnight.bytes, noon.bytes + 8 * 1024);
  EXPECT_EQ(midnight.descriptors, noon.descriptors);

  // The agent has seen them all, and _Total, ended:0, the root and the software
  // interrupts.
  EXPECT_EQ(Sample(testing::kProcesses).names.size(), kRest + 2);
  EXPECT_EQ(Sample("Linux Cgroup Process").names.size(), kRest + 2);
  EXPECT_EQ(Sample("Thread").names.size(), kRest);
  EXPECT_EQ(Sample("Linux Cgroup").names.size(), kRest + 1);
  EXPECT_EQ(Sample("PhysicalDisk").names.size(), kRest + 1);
  EXPECT_EQ(Sample("Linux Block Device").names.size(), kRest);
  EXPECT_EQ(Sample("LogicalDisk").names.size(), 2 * kRest + 1);
  EXPECT_EQ(Sample("Linux Filesystem").names.size(), 2 * kRest);
  EXPECT_EQ(Sample("Linux NFS Mount").names.size(), kRest);
  EXPECT_EQ(Sample("Network Interface").names.size(), kRest);
  EXPECT_EQ(Sample("Linux Interrupts").names.size(), kRest + 1);
  EXPECT_EQ(Sample("Linux Hardware Monitor").names.size(), kRest);
  EXPECT_EQ(Sample("Linux MD RAID").names.size(), kRest);
  EXPECT_EQ(Sample("RDMA Activity").names.size(), kRest);
  EXPECT_EQ(Sample("Processor").names.size(), kRest + 2);
}

}  // namespace
}  // namespace fleetperf::agent
