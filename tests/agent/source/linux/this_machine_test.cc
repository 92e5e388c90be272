// Compares disks, and the time of processors, with this machine's files, read
// by other means before and after. Values that only grow lie between the two.

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
#include "agent/source/linux/disk/disk_countersets.h"
#include "agent/source/linux/disk/filesystems.h"
#include "agent/source/linux/disk/logical_disk.h"
#include "agent/source/linux/processor/processor.h"
#include "agent/source/linux/processor/processor_information.h"
#include "base/os/clock.h"
#include "perflib/utf16.h"
#include "tests/agent/source/linux/disk/disk_fields.h"
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
  // By the instance's name.
  std::map<std::string, uint32_t> Ids() const {
    std::map<std::string, uint32_t> ids;
    for (size_t row = 0; row < sample_.rows(); ++row) {
      ids[perflib::Utf8FromUtf16(sample_.Utf16Name(row))] =
          sample_.InstanceId(row);
    }
    return ids;
  }
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

template <typename T>
class MachineDisks : public T {
 public:
  explicit MachineDisks(const std::string& root)
      : T(std::make_shared<BlockDevices>(root)) {}
};

// Compares all instances that /proc/diskstats names. Returns their number.
template <typename T>
size_t ExpectDisks() {
  Live<MachineDisks<T>> live;
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
      : LogicalDisk(std::make_shared<Filesystems>(
                        root, SpaceOf, /*patience=*/absl::Seconds(60)),
                    std::make_shared<BlockDevices>(root)) {}
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

  using Space = std::vector<std::optional<uint64_t>>;
  const auto read = [] {
    struct statvfs space = {};
    EXPECT_EQ(statvfs("/", &space), 0);
    const uint64_t available = space.f_bavail * space.f_frsize;
    const uint64_t used = (space.f_blocks - space.f_bfree) * space.f_frsize;
    return Space{available, used + available, available >> 20};
  };
  Space before;
  Space actual;
  Space after;
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

// The times of /proc/stat are user, nice, system, idle, iowait, irq, softirq,
// steal.
uint64_t Busy(const std::vector<uint64_t>& times) {
  return times[0] + times[1] + times[2] + times[5] + times[6] + times[7];
}

// Returns the instances by the words of /proc/stat: "cpu0".
template <typename T>
std::map<std::string, std::string> CpuInstances(const Live<T>& live) {
  std::map<std::string, std::string> names;
  for (const auto& [name, id] : live.Ids()) {
    if (!absl::EndsWith(name, "_Total")) names[absl::StrCat("cpu", id)] = name;
  }
  return names;
}

// Busy for a fifth of a second, as the kernel counts it.
template <typename T>
void ExpectProcessorTime() {
  Live<T> live;
  const Numbers first_before = NumbersOf("/proc/stat");
  live.Sample();
  const Numbers first_after = NumbersOf("/proc/stat");
  const int64_t start = live.clocks().perf_time_100nsec;
  std::map<std::string, uint64_t> not_busy;
  for (const auto& [cpu, name] : CpuInstances(live)) {
    not_busy[cpu] = *live.Get(name, "% Processor Time");
  }
  EXPECT_FALSE(not_busy.empty());
  Numbers second_before;
  do {
    second_before = NumbersOf("/proc/stat");
  } while (Busy(second_before.at("cpu")) < Busy(first_after.at("cpu")) + 20);
  live.Sample();
  const Numbers second_after = NumbersOf("/proc/stat");
  const int64_t elapsed = live.clocks().perf_time_100nsec - start;
  for (const auto& [cpu, name] : CpuInstances(live)) {
    const uint64_t now = *live.Get(name, "% Processor Time");
    // The kernel counts the time that a hypervisor took later, so that the
    // count may be ahead of the clock.
    const int64_t busy = elapsed - static_cast<int64_t>(now - not_busy.at(cpu));
    const auto between = [&word = cpu](const Numbers& a, const Numbers& b) {
      return static_cast<int64_t>((Busy(b.at(word)) - Busy(a.at(word))) *
                                  k100NSecPerTick);
    };
    EXPECT_GE(busy, std::min(elapsed, between(first_after, second_before)))
        << name;
    EXPECT_LE(busy, between(first_before, second_after)) << name;
  }
}

TEST(ThisMachineTest, ProcessorTime) { ExpectProcessorTime<Processor>(); }

TEST(ThisMachineTest, ProcessorInformationTime) {
  ExpectProcessorTime<ProcessorInformation>();
}

}  // namespace
}  // namespace fleetperf::agent
