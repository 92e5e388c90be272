// Every counter of cgroups, compared with the files of this machine's cgroups,
// of version 1 or 2, and with those of recorded trees.

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/agent/source/linux/every_counter.h"
#include "tests/agent/source/linux/recorded_trees.h"

namespace fleetperf::agent {
namespace {

using testing::CountersetFormulas;
using testing::Fields;
using testing::FieldsByInstance;
using testing::kJiffy;
using testing::MachineFiles;
using testing::NumberIn;
using testing::WordList;

constexpr char kCgroupMounts[] = "sys/fs/cgroup";
constexpr uint64_t kUsageMicrosecond = 10;     // in units of 100 ns
constexpr uint64_t kNanosecondsOfUsage = 100;  // in 100 ns

bool HasOnlyVersion2(const MachineFiles& files) {
  return files.Has(absl::StrCat(kCgroupMounts, "/cgroup.controllers"));
}

// Copies numbers, if the file has them, under other names and in other units.
struct RenamedNumber {
  const char* key;
  const char* name;
  uint64_t unit = 1;
  uint64_t divisor = 1;
};
void AddRenamed(const MachineFiles& files, const std::string& path,
                const std::vector<RenamedNumber>& names, Fields* fields) {
  Fields numbers;
  files.AddNumbers(path, &numbers);
  for (const RenamedNumber& row : names) {
    const auto number = numbers.find(row.key);
    if (number == numbers.end()) continue;
    (*fields)[row.name] = number->second * row.unit / row.divisor;
  }
}

// Requests to these devices count again in the disks below.
bool IsLayeredDeviceOfCgroup(const MachineFiles& files,
                             const std::string& device) {
  std::error_code none;
  const std::string link = files.PathOf("sys/dev/block/" + device);
  const std::string name = std::filesystem::read_symlink(link, none).filename();
  return absl::StartsWith(name, "dm-") || absl::StartsWith(name, "md") ||
         absl::StartsWith(name, "loop") || absl::StartsWith(name, "zram");
}

// Lines of io.stat: 8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6.
void AddCgroupIo(const MachineFiles& files, const std::string& path,
                 Fields* fields) {
  if (!files.Has(path)) return;
  const WordList kKeys = {"rbytes", "wbytes", "rios", "wios", "dbytes"};
  for (const std::string& key : kKeys) (*fields)[key] = 0;
  for (const WordList& words : files.Lines(path)) {
    if (words.size() < 2 ||
        IsLayeredDeviceOfCgroup(files, words[0] + ":" + words[1])) {
      continue;
    }
    for (const std::string& word : words) {
      const std::pair<std::string, std::string> number =
          absl::StrSplit(word, absl::MaxSplits('=', 1));
      if (std::count(kKeys.begin(), kKeys.end(), number.first) != 0) {
        (*fields)[number.first] += *NumberIn(number.second);
      }
    }
  }
}

// Lines of version 1: 8:0 Read 4096.
void AddCgroupIoV1(const MachineFiles& files, const std::string& path,
                   const std::string& reads, const std::string& writes,
                   Fields* fields) {
  if (!files.Has(path)) return;
  (*fields)[reads] = (*fields)[writes] = 0;
  for (const WordList& words : files.Lines(path)) {
    if (words.size() != 4 ||
        IsLayeredDeviceOfCgroup(files, words[0] + ":" + words[1])) {
      continue;
    }
    if (words[2] == "Read") (*fields)[reads] += *NumberIn(words[3]);
    if (words[2] == "Write") (*fields)[writes] += *NumberIn(words[3]);
  }
}

// Lines such as "some avg10=0.00 avg60=0.00 avg300=0.00 total=5", in us.
void AddCgroupPressure(const MachineFiles& files, const std::string& directory,
                       Fields* fields) {
  for (const std::string resource : {"cpu", "memory", "io"}) {
    for (const WordList& words :
         files.Lines(directory + resource + ".pressure")) {
      const std::pair<std::string, std::string> total =
          absl::StrSplit(words.back(), absl::MaxSplits('=', 1));
      (*fields)[resource + " " + words[0]] =
          NumberIn(total.second).value() * kUsageMicrosecond;
    }
  }
}

// The kernel's cgroup-v2.rst. A limit without a number is none.
void AddVersion2(const MachineFiles& files, const std::string& directory,
                 Fields* fields) {
  AddRenamed(files, directory + "cpu.stat",
             {{"usage_usec", "usage", kUsageMicrosecond},
              {"user_usec", "user", kUsageMicrosecond},
              {"system_usec", "system", kUsageMicrosecond},
              {"nr_periods", "periods"},
              {"nr_throttled", "throttled"},
              {"throttled_usec", "throttled time", kUsageMicrosecond}},
             fields);
  const WordList limit = files.Line(directory + "cpu.max");
  if (limit.size() == 2 && limit[0] != "max") {
    (*fields)["% limit"] = 100 * *NumberIn(limit[0]) / *NumberIn(limit[1]);
  }
  files.AddNumber(directory + "memory.current", "memory", fields);
  files.AddNumber(directory + "memory.peak", "peak", fields);
  files.AddNumber(directory + "memory.max", "memory limit", fields);
  files.AddNumber(directory + "memory.swap.current", "swap", fields);
  AddRenamed(files, directory + "memory.events",
             {{"high", "high events"},
              {"max", "limit events"},
              {"oom", "oom events"},
              {"oom_kill", "oom kills"}},
             fields);
  AddRenamed(files, directory + "memory.stat",
             {{"anon", "anon"},
              {"file", "file"},
              {"kernel", "kernel"},
              {"sock", "sock"},
              {"shmem", "shmem"},
              {"file_dirty", "dirty"},
              {"slab", "slab"},
              {"inactive_file", "inactive file"},
              {"workingset_refault_anon", "refault anon"},
              {"workingset_refault_file", "refault file"},
              {"pgscan", "pgscan"},
              {"pgsteal", "pgsteal"},
              {"pgfault", "pgfault"},
              {"pgmajfault", "pgmajfault"}},
             fields);
  AddCgroupIo(files, directory + "io.stat", fields);
  files.AddNumber(directory + "pids.current", "tasks", fields);
  files.AddNumber(directory + "pids.max", "task limit", fields);
  AddRenamed(files, directory + "pids.events", {{"max", "task events"}},
             fields);
  AddCgroupPressure(files, directory, fields);
}

// The kernel's cgroup-v1/memory.rst: the total_* numbers are those of the
// hierarchy below, and a limit that no machine has is none.
void AddMemoryV1(const MachineFiles& files, const std::string& directory,
                 Fields* fields) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 62;
  files.AddNumber(directory + "memory.usage_in_bytes", "memory", fields);
  files.AddNumber(directory + "memory.max_usage_in_bytes", "peak", fields);
  files.AddNumber(directory + "memory.kmem.usage_in_bytes", "kernel", fields);
  files.AddNumber(directory + "memory.failcnt", "limit events", fields);
  const auto limit = files.Number(directory + "memory.limit_in_bytes");
  if (limit.has_value() && *limit < kNoLimit) {
    (*fields)["memory limit"] = *limit;
  }
  AddRenamed(files, directory + "memory.oom_control",
             {{"oom_kill", "oom kills"}}, fields);
  AddRenamed(files, directory + "memory.stat",
             {{"total_rss", "anon"},
              {"total_cache", "file"},
              {"total_shmem", "shmem"},
              {"total_dirty", "dirty"},
              {"total_swap", "swap"},
              {"total_inactive_file", "inactive file"},
              {"total_pgfault", "pgfault"},
              {"total_pgmajfault", "pgmajfault"}},
             fields);
}

// The kernel's cgroup-v1/cpuacct.rst, blkio-controller.rst and pids.rst.
void AddVersion1(const MachineFiles& files, const std::string& path,
                 Fields* fields) {
  const auto directory = [&](const char* controller) {
    return absl::StrCat(kCgroupMounts, "/", controller, path, "/");
  };
  const std::string times = directory("cpuacct");
  if (const auto nanoseconds = files.Number(times + "cpuacct.usage")) {
    (*fields)["usage"] = *nanoseconds / kNanosecondsOfUsage;
  }
  AddRenamed(files, times + "cpuacct.stat",
             {{"user", "user", kJiffy}, {"system", "system", kJiffy}}, fields);
  const std::string cpu = directory("cpu");
  AddRenamed(files, cpu + "cpu.stat",
             {{"nr_periods", "periods"},
              {"nr_throttled", "throttled"},
              {"throttled_time", "throttled time", 1, kNanosecondsOfUsage}},
             fields);
  const auto quota = files.Number(cpu + "cpu.cfs_quota_us");  // -1: no limit
  const auto period = files.Number(cpu + "cpu.cfs_period_us");
  if (quota && period) (*fields)["% limit"] = 100 * *quota / *period;
  AddMemoryV1(files, directory("memory"), fields);
  AddCgroupIoV1(
      files, directory("blkio") + "blkio.throttle.io_service_bytes_recursive",
      "rbytes", "wbytes", fields);
  AddCgroupIoV1(files,
                directory("blkio") + "blkio.throttle.io_serviced_recursive",
                "rios", "wios", fields);
  files.AddNumber(directory("pids") + "pids.current", "tasks", fields);
  files.AddNumber(directory("pids") + "pids.max", "task limit", fields);
}

// Without a hierarchy of version 2 alone, the values of version 1 go first.
Fields ReadCgroup(const MachineFiles& files, const std::string& path) {
  Fields fields;
  if (HasOnlyVersion2(files)) {
    AddVersion2(files, kCgroupMounts + path + "/", &fields);
  } else {
    AddVersion2(files, absl::StrCat(kCgroupMounts, "/unified", path, "/"),
                &fields);
    AddVersion1(files, path, &fields);
  }
  const auto memory = fields.find("memory");
  if (memory == fields.end()) return fields;
  if (fields.contains("memory limit")) fields["used"] = memory->second;
  if (fields.contains("inactive file")) {
    fields["working set"] =
        memory->second - std::min(memory->second, fields["inactive file"]);
  }
  return fields;
}

CountersetFormulas LinuxCgroupFormulas() {
  return {.counterset = "Linux Cgroup",
          .counters = {{"% Processor Time", {"usage"}},
                       {"% User Time", {"user"}},
                       {"% Privileged Time", {"system"}},
                       {"% Processor Limit", {"% limit"}},
                       {"Periods/sec", {"periods"}},
                       {"% Throttled Periods", {"throttled"}},
                       {"id:1100", {"periods"}},  // of which it is a percentage
                       {"% Throttled Time", {"throttled time"}},
                       {"Memory Bytes", {"memory"}},
                       {"Memory Peak Bytes", {"peak"}},
                       {"Memory Limit Bytes", {"memory limit"}},
                       {"% Memory Used", {"used"}},
                       {"id:1101",
                        {"memory limit"}},  // of which it is a percentage
                       {"Swap Bytes", {"swap"}},
                       {"Memory High Events", {"high events"}},
                       {"Memory Limit Events", {"limit events"}},
                       {"Out Of Memory Events", {"oom events"}},
                       {"Out Of Memory Kills", {"oom kills"}},
                       {"Anonymous Bytes", {"anon"}},
                       {"File Bytes", {"file"}},
                       {"Kernel Bytes", {"kernel"}},
                       {"Socket Bytes", {"sock"}},
                       {"Shared Bytes", {"shmem"}},
                       {"Dirty Bytes", {"dirty"}},
                       {"Slab Bytes", {"slab"}},
                       {"Inactive File Bytes", {"inactive file"}},
                       {"Working Set", {"working set"}},
                       {"Anonymous Refaults/sec", {"refault anon"}},
                       {"File Refaults/sec", {"refault file"}},
                       {"Pages Scanned/sec", {"pgscan"}},
                       {"Pages Reclaimed/sec", {"pgsteal"}},
                       {"Page Faults/sec", {"pgfault"}},
                       {"Page Reads/sec", {"pgmajfault"}},
                       {"IO Read Bytes/sec", {"rbytes"}},
                       {"IO Write Bytes/sec", {"wbytes"}},
                       {"IO Read Operations/sec", {"rios"}},
                       {"IO Write Operations/sec", {"wios"}},
                       {"IO Discard Bytes/sec", {"dbytes"}},
                       {"Tasks", {"tasks"}},
                       {"Task Limit", {"task limit"}},
                       {"Task Limit Events", {"task events"}},
                       {"% CPU Some Stall Time", {"cpu some"}},
                       {"% CPU Full Stall Time", {"cpu full"}},
                       {"% Memory Some Stall Time", {"memory some"}},
                       {"% Memory Full Stall Time", {"memory full"}},
                       {"% IO Some Stall Time", {"io some"}},
                       {"% IO Full Stall Time", {"io full"}}},
          .has_more_instances = true};
}

// Those whose files can be found by their names, which are paths. Containers
// have short names.
WordList PathsIn(WordList names) {
  std::erase_if(names, [](const std::string& name) {
    return !absl::StartsWith(name, "/");
  });
  return names;
}

// The formulas of these cgroups, as long as they exist.
CountersetFormulas FormulasOfCgroups(const WordList& paths) {
  CountersetFormulas formulas = LinuxCgroupFormulas();
  formulas.read = [paths](const MachineFiles& files) {
    FieldsByInstance cgroups;
    for (const std::string& path : paths) {
      Fields fields = ReadCgroup(files, path == "/" ? "" : path);
      if (!fields.empty()) cgroups[path] = std::move(fields);
    }
    return cgroups;
  };
  return formulas;
}

class CgroupsOfThisMachineTest : public testing::EveryCounterFixture {};

TEST_F(CgroupsOfThisMachineTest, LinuxCgroup) {
  constexpr size_t kMaxCgroups = 20;
  UseThisMachine();
  WordList paths = PathsIn(Sample("Linux Cgroup").names);
  paths.resize(std::min(paths.size(), kMaxCgroups));
  CountersetFormulas formulas = FormulasOfCgroups(paths);
  // The kernel charges the test's cgroup for the files that the readings open.
  const std::set<std::string> kCharged = {"Memory Bytes", "% Memory Used",
                                          "Working Set", "Kernel Bytes",
                                          "Slab Bytes"};
  for (testing::CounterFormula& formula : formulas.counters) {
    if (kCharged.contains(formula.counter)) formula.slack = 1 << 20;
  }
  ExpectEveryCounter(formulas);
}

class RecordedCgroupsTest : public testing::RecordedTrees {
 protected:
  void ExpectCgroups() {
    const WordList paths = PathsIn(Sample("Linux Cgroup").names);
    EXPECT_GT(paths.size(), 20u);
    ExpectEveryCounter(FormulasOfCgroups(paths));
  }
};

TEST_F(RecordedCgroupsTest, Version1) {
  Unpack("cgroups-root-003",
         "--wildcards '*/cpuacct.stat' '*/cpuacct.usage' '*/cpu.stat' "
         "'*/cpu.cfs_*' '*/cgroup/cpu' '*/cgroup/cpuacct' '*/cgroup/memory/*'");
  ExpectCgroups();
}

TEST_F(RecordedCgroupsTest, Version2) {
  Unpack("cgroups-root-004",
         "./sys/fs/cgroup/cgroup.controllers ./sys/fs/cgroup/init.scope "
         "./sys/fs/cgroup/machine.slice");
  ExpectCgroups();
}

}  // namespace
}  // namespace fleetperf::agent
