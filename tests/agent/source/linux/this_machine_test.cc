// Compares providers with this machine's files, read by other means before and
// after. Values that only grow lie between the two.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/source/linux/filesystems.h"
#include "agent/source/linux/linux_block_device.h"
#include "agent/source/linux/linux_interrupts.h"
#include "agent/source/linux/linux_memory.h"
#include "agent/source/linux/linux_scheduler.h"
#include "agent/source/linux/logical_disk.h"
#include "agent/source/linux/memory.h"
#include "agent/source/linux/network_interface.h"
#include "agent/source/linux/numa_node_memory.h"
#include "agent/source/linux/paging_file.h"
#include "agent/source/linux/physical_disk.h"
#include "agent/source/linux/process_reader.h"
#include "agent/source/linux/processor.h"
#include "agent/source/linux/processor_information.h"
#include "agent/source/linux/system.h"
#include "base/clock.h"
#include "perflib/utf16.h"
#include "tests/agent/source/linux/disk_fields.h"
#include "tests/support/patience.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

constexpr uint64_t k100NSecPerTick = 100'000;  // of 1/100 s

// The lines of a file as words. Empty if there is no such file.
std::vector<std::vector<std::string>> Words(const std::string& path) {
  std::vector<std::vector<std::string>> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream stream(line);
    std::vector<std::string>& words = lines.emplace_back();
    for (std::string word; stream >> word;) words.push_back(word);
  }
  return lines;
}

// The numbers of a file's lines by their first word: "ctxt", "cpu0".
using Numbers = std::map<std::string, std::vector<uint64_t>>;
Numbers NumbersOf(const std::string& path) {
  Numbers numbers;
  for (const auto& words : Words(path)) {
    if (words.empty()) continue;
    std::vector<uint64_t>& line = numbers[words[0]];
    for (size_t i = 1; i < words.size(); ++i) {
      char* end;
      const uint64_t number = std::strtoull(words[i].c_str(), &end, 10);
      if (*end != '\0') break;
      line.push_back(number);
    }
  }
  return numbers;
}

// A provider of this machine.
template <typename T>
class Live {
 public:
  void Sample() {
    clocks_ =
        perflib::LinuxClocks(Clock::Real().Monotonic(), Clock::Real().Now());
    const size_t columns = provider_.registration().counters.size();
    sample_.Reset(columns);
    ColumnSet all = 0;
    for (size_t i = 0; i < columns; ++i) all |= Bit(i);
    ASSERT_OK(provider_.Sample(all, clocks_, &sample_));
  }

  // `counter`: a name, or "id:N" without one.
  std::optional<uint64_t> Get(const std::string& instance,
                              const std::string& counter) const {
    const auto& counters = provider_.registration().counters;
    for (size_t row = 0; row < sample_.rows(); ++row) {
      if (perflib::Utf8FromUtf16(sample_.Utf16Name(row)) != instance) continue;
      for (size_t i = 0; i < counters.size(); ++i) {
        const std::string& name = counters[i].name;
        if (!sample_.HasValue(row, i)) continue;
        if (name == counter ||
            (name.empty() &&
             counter == absl::StrCat("id:", counters[i].counter_id))) {
          return sample_.Value(row, i);
        }
      }
    }
    return std::nullopt;
  }
  size_t rows() const { return sample_.rows(); }
  const perflib::Clocks& clocks() const { return clocks_; }

 private:
  T provider_{""};
  CountersetSample sample_;
  perflib::Clocks clocks_;
};

void ExpectBetween(uint64_t before, std::optional<uint64_t> value,
                   uint64_t after, const std::string& what) {
  ASSERT_TRUE(value.has_value()) << what;
  EXPECT_GE(*value, before) << what;
  EXPECT_LE(*value, after) << what;
}

TEST(ThisMachineTest, LinuxMemory) {
  const std::map<std::string, std::string> kKeys = {
      {"Pages Freed/sec", "pgfree"},
      {"Huge Page Faults/sec", "thp_fault_alloc"},
      {"Huge Page Collapses/sec", "thp_collapse_alloc"},
      {"File Refaults/sec", "workingset_refault_file"},
      {"Pages Scanned By kswapd/sec", "pgscan_kswapd"},
      {"Pages Reclaimed Directly/sec", "pgsteal_direct"},
      {"Compaction Stalls/sec", "compact_stall"},
      {"Out Of Memory Kills", "oom_kill"},
  };
  Live<LinuxMemory> live;
  Numbers before;
  Numbers after;
  // Counts of NUMA nodes may step back: a CPU adds its count ahead of time.
  testing::Retry([&] {
    before = NumbersOf("/proc/vmstat");
    live.Sample();
    after = NumbersOf("/proc/vmstat");
    return std::all_of(kKeys.begin(), kKeys.end(), [&](const auto& key) {
      return !before.contains(key.second) ||
             (live.Get("", key.first) >= before.at(key.second)[0] &&
              live.Get("", key.first) <= after.at(key.second)[0]);
    });
  });
  for (const auto& [counter, key] : kKeys) {
    if (!before.contains(key)) continue;  // an old kernel
    ExpectBetween(before.at(key)[0], live.Get("", counter), after.at(key)[0],
                  counter);
  }
}

TEST(ThisMachineTest, Memory) {
  const auto sizes = [] {
    const Numbers meminfo = NumbersOf("/proc/meminfo");
    return std::vector<uint64_t>{meminfo.at("MemTotal:").at(0) * 1024,
                                 meminfo.at("CommitLimit:").at(0) * 1024,
                                 meminfo.at("SwapTotal:").at(0) * 1024};
  };
  Live<Memory> live;
  std::vector<uint64_t> sizes_before;
  Numbers before;
  Numbers after;
  testing::Retry([&] {  // a hypervisor may take memory
    sizes_before = sizes();
    before = NumbersOf("/proc/vmstat");
    live.Sample();
    after = NumbersOf("/proc/vmstat");
    return sizes() == sizes_before;
  });
  ExpectBetween(before.at("pgfault")[0], live.Get("", "Page Faults/sec"),
                after.at("pgfault")[0], "pgfault");
  ExpectBetween(before.at("pgmajfault")[0], live.Get("", "Page Reads/sec"),
                after.at("pgmajfault")[0], "pgmajfault");
  EXPECT_EQ(live.Get("", "Total Bytes"), sizes_before[0]);
  EXPECT_EQ(live.Get("", "Commit Limit"), sizes_before[1]);
  EXPECT_EQ(live.Get("", "Swap Total Bytes"), sizes_before[2]);
}

// Lines: Node 0 MemTotal: 5 kB.
TEST(ThisMachineTest, NumaNodeMemory) {
  const std::string node = "/sys/devices/system/node/node0/";
  const auto meminfo = Words(node + "meminfo");
  if (meminfo.empty()) GTEST_SKIP() << "no NUMA";
  Live<NumaNodeMemory> live;
  Numbers before = NumbersOf(node + "numastat");
  live.Sample();
  Numbers after = NumbersOf(node + "numastat");
  EXPECT_EQ(live.Get("0", "Total MBytes"),
            std::stoull(meminfo[0].at(3)) / 1024);
  ExpectBetween(before["numa_hit"].at(0), live.Get("0", "Numa Hits/sec"),
                after["numa_hit"].at(0), "numa_hit");
}

using DiskLines = std::map<std::string, std::vector<std::string>>;  // by name

DiskLines ReadDiskstats() {
  DiskLines lines;
  for (auto& words : Words("/proc/diskstats")) {
    const std::string name = words.at(2);
    lines[name] = std::move(words);
  }
  return lines;
}

// `before` and `after` are lines of /proc/diskstats.
template <typename T>
void ExpectDisk(const Live<T>& live, const std::string& instance,
                const std::vector<std::string>& before,
                const std::vector<std::string>& after) {
  for (const testing::DiskSum& sum : testing::DiskSums()) {
    const std::optional<uint64_t> least = testing::ValueOf(sum, before);
    const std::string what = absl::StrCat(instance, " ", sum.counter);
    if (least.has_value()) {
      ExpectBetween(*least, live.Get(instance, sum.counter),
                    *testing::ValueOf(sum, after), what);
    } else {
      EXPECT_FALSE(live.Get(instance, sum.counter).has_value()) << what;
    }
  }
  // The idle time is the rest of the time since the start.
  constexpr size_t kMillisecondsBusy = 10;
  const auto idle = [&](const std::vector<std::string>& line) {
    const auto now = static_cast<uint64_t>(live.clocks().perf_time_stamp);
    return now - std::min(now, *testing::DiskField(line, kMillisecondsBusy) *
                                   uint64_t{10'000});
  };
  ExpectBetween(idle(after), live.Get(instance, "% Idle Time"), idle(before),
                instance);
}

// Requests come and go, so that samples are taken until one lies between equal
// readings. Compares nothing if the device is busy all the time.
template <typename T>
void ExpectQueueLength(Live<T>& live, const std::string& instance,
                       const std::string& device) {
  constexpr size_t kInFlight = 9;
  std::optional<uint64_t> actual;
  std::optional<uint64_t> before;
  std::optional<uint64_t> after;
  for (int tries = 0; tries < 1000; ++tries) {
    const DiskLines lines = ReadDiskstats();
    live.Sample();
    const DiskLines later = ReadDiskstats();
    if (!lines.contains(device) || !later.contains(device)) return;  // removed
    before = testing::DiskField(lines.at(device), kInFlight);
    after = testing::DiskField(later.at(device), kInFlight);
    actual = live.Get(instance, "Current Disk Queue Length");
    if (before == after && actual == before) break;
  }
  if (before != after) return;
  EXPECT_EQ(actual, before) << instance;
}

// Compares all instances that /proc/diskstats names. Returns their number.
template <typename T>
size_t ExpectDisks() {
  Live<T> live;
  const DiskLines before = ReadDiskstats();
  live.Sample();
  const DiskLines after = ReadDiskstats();
  std::vector<std::string> names;
  for (const auto& [name, line] : before) {
    if (!live.Get(name, "Disk Reads/sec").has_value()) continue;
    if (!after.contains(name)) continue;  // removed
    names.push_back(name);
    ExpectDisk(live, name, line, after.at(name));
  }
  for (const std::string& name : names) ExpectQueueLength(live, name, name);
  return names.size();
}

TEST(ThisMachineTest, PhysicalDisk) {
  if (ExpectDisks<PhysicalDisk>() == 0) GTEST_SKIP() << "no disk";
}

// Names of the device mapper are those of its maps, which are left out here.
TEST(ThisMachineTest, LinuxBlockDevice) {
  if (ExpectDisks<LinuxBlockDevice>() == 0) {
    GTEST_SKIP() << "no partition, array or loop device";
  }
}

class MachineLogicalDisk : public LogicalDisk {
 public:
  explicit MachineLogicalDisk(const std::string& root)
      : LogicalDisk(root, std::make_shared<Filesystems>(
                              root, SpaceOf, /*patience=*/absl::Seconds(60))) {}
};

// The name in /proc/diskstats of the device that holds the root filesystem, or
// "" if it is none.
std::string RootDevice() {
  struct stat status;
  if (stat("/", &status) != 0) return "";
  for (const auto& [name, line] : ReadDiskstats()) {
    if (line.at(0) == absl::StrCat(major(status.st_dev)) &&
        line.at(1) == absl::StrCat(minor(status.st_dev))) {
      return name;
    }
  }
  return "";
}

TEST(ThisMachineTest, LogicalDisk) {
  const std::string device = RootDevice();
  if (device.empty()) GTEST_SKIP() << "the root filesystem is on no device";
  Live<MachineLogicalDisk> live;
  const DiskLines disk_before = ReadDiskstats();
  live.Sample();
  if (!live.Get("/", "% Free Space").has_value()) {
    GTEST_SKIP() << "the root filesystem is no mount of this namespace";
  }
  ExpectDisk(live, "/", disk_before.at(device), ReadDiskstats().at(device));
  ExpectQueueLength(live, "/", device);

  using Values = std::vector<std::optional<uint64_t>>;
  const auto read = [] {
    struct statvfs space = {};
    EXPECT_EQ(statvfs("/", &space), 0);
    const uint64_t available = space.f_bavail * space.f_frsize;
    const uint64_t used = (space.f_blocks - space.f_bfree) * space.f_frsize;
    return Values{available, used + available, available >> 20};
  };
  Values before;
  Values actual;
  Values after;
  testing::Retry([&] {  // other processes write and remove files
    before = read();
    live.Sample();
    after = read();
    actual = {live.Get("/", "% Free Space"), live.Get("/", "id:1106"),
              live.Get("/", "Free Megabytes")};
    return before == after && actual == before;
  });
  if (before != after) GTEST_SKIP() << "other processes write all the time";
  EXPECT_EQ(actual, before);
}

TEST(ThisMachineTest, NetworkInterface) {
  Live<NetworkInterface> live;
  const Numbers before = NumbersOf("/proc/net/dev");
  live.Sample();
  const Numbers after = NumbersOf("/proc/net/dev");
  const std::map<std::string, size_t> kFields = {{"Bytes Received/sec", 0},
                                                 {"Packets Received/sec", 1},
                                                 {"Bytes Sent/sec", 8},
                                                 {"Packets Sent/sec", 9}};
  size_t interfaces = 0;
  for (const auto& [name, numbers] : before) {
    if (numbers.size() != 16 || !after.contains(name)) continue;
    ++interfaces;
    for (const auto& [counter, field] : kFields) {
      ExpectBetween(numbers[field],
                    live.Get(name.substr(0, name.size() - 1), counter),
                    after.at(name)[field], name + counter);
    }
  }
  EXPECT_GT(interfaces, 0u);
}

class MachineSystem : public System {
 public:
  explicit MachineSystem(const std::string& root)
      : System(root, std::make_shared<ProcessReader>(root, 8),
               &ReadClockDiscipline) {}
};

TEST(ThisMachineTest, System) {
  Live<MachineSystem> live;
  const Numbers before = NumbersOf("/proc/stat");
  live.Sample();
  const Numbers after = NumbersOf("/proc/stat");
  ExpectBetween(before.at("ctxt")[0], live.Get("", "Context Switches/sec"),
                after.at("ctxt")[0], "ctxt");
  ExpectBetween(before.at("processes")[0],
                live.Get("", "Processes Created/sec"), after.at("processes")[0],
                "processes");
  const auto limits = Words("/proc/sys/fs/file-nr");
  if (!limits.empty()) {
    EXPECT_EQ(absl::StrCat(live.Get("", "Files Open Limit").value_or(0)),
              limits[0].at(2));
  }
}

// The times of /proc/stat are user, nice, system, idle, iowait, irq, softirq,
// steal.
uint64_t Busy(const std::vector<uint64_t>& times) {
  return times[0] + times[1] + times[2] + times[5] + times[6] + times[7];
}

// Busy for a fifth of a second, as the kernel counts it.
TEST(ThisMachineTest, ProcessorTimes) {
  Live<Processor> live;
  const Numbers first_before = NumbersOf("/proc/stat");
  live.Sample();
  const Numbers first_after = NumbersOf("/proc/stat");
  const int64_t start = live.clocks().perf_time_100nsec;
  std::map<std::string, uint64_t> not_busy;
  for (const auto& [name, times] : first_after) {
    if (!absl::StartsWith(name, "cpu") || name == "cpu") continue;
    ExpectBetween(first_before.at(name)[0] + first_before.at(name)[1],
                  *live.Get(name.substr(3), "% User Time") / k100NSecPerTick,
                  times[0] + times[1], name);
    not_busy[name] = *live.Get(name.substr(3), "% Processor Time");
  }
  Numbers second_before;
  do {
    second_before = NumbersOf("/proc/stat");
  } while (Busy(second_before.at("cpu")) < Busy(first_after.at("cpu")) + 20);
  live.Sample();
  const Numbers second_after = NumbersOf("/proc/stat");
  const int64_t elapsed = live.clocks().perf_time_100nsec - start;
  for (const auto& [name, old] : not_busy) {
    const uint64_t now = *live.Get(name.substr(3), "% Processor Time");
    // The kernel counts the time that a hypervisor took later, so that the
    // count may be ahead of the clock.
    const int64_t busy = elapsed - static_cast<int64_t>(now - old);
    const auto between = [&cpu = name](const Numbers& a, const Numbers& b) {
      return static_cast<int64_t>((Busy(b.at(cpu)) - Busy(a.at(cpu))) *
                                  k100NSecPerTick);
    };
    EXPECT_GE(busy, std::min(elapsed, between(first_after, second_before)))
        << name;
    EXPECT_LE(busy, between(first_before, second_after)) << name;
  }
}

TEST(ThisMachineTest, ProcessorInformationInterrupts) {
  const Numbers before = NumbersOf("/proc/interrupts");
  if (!before.contains("LOC:")) GTEST_SKIP() << "another architecture";
  Live<ProcessorInformation> information;
  Live<LinuxInterrupts> interrupts;
  information.Sample();
  interrupts.Sample();
  const Numbers after = NumbersOf("/proc/interrupts");
  const auto sum = [](const Numbers& numbers) {
    uint64_t all = 0;
    for (const uint64_t number : numbers.at("LOC:")) all += number;
    return all;
  };
  ExpectBetween(sum(before), interrupts.Get("LOC", "Interrupts/sec"),
                sum(after), "LOC");
  ExpectBetween(before.at("LOC:")[0],
                information.Get("0,0", "Clock Interrupts/sec"),
                after.at("LOC:")[0], "LOC of CPU 0");
}

TEST(ThisMachineTest, PagingFile) {
  const auto lines = Words("/proc/swaps");
  Live<PagingFile> live;
  live.Sample();
  EXPECT_EQ(live.rows(), lines.size());  // a header there, _Total here
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(live.Get(lines[i].at(0), "Size Bytes"),
              std::stoull(lines[i].at(2)) * 1024);
  }
}

TEST(ThisMachineTest, LinuxScheduler) {
  const Numbers before = NumbersOf("/proc/schedstat");
  if (before.empty()) GTEST_SKIP() << "the kernel lacks CONFIG_SCHEDSTATS";
  Live<LinuxScheduler> live;
  live.Sample();
  const Numbers after = NumbersOf("/proc/schedstat");
  ExpectBetween(before.at("cpu0")[6] / 100, live.Get("0", "% Run Time"),
                after.at("cpu0")[6] / 100, "run time");
  ExpectBetween(before.at("cpu0")[8], live.Get("0", "Timeslices/sec"),
                after.at("cpu0")[8], "timeslices");
}

}  // namespace
}  // namespace fleetperf::agent
