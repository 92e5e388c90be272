// Every counter of processors and interrupts, compared with this machine's
// /proc/stat, /proc/interrupts, /proc/softirqs, /proc/schedstat and
// /sys/devices/system/cpu, and with those of recorded trees.

#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/agent/source/linux/every_counter.h"
#include "tests/agent/source/linux/recorded_trees.h"

namespace fleetperf::agent {
namespace {

using testing::CounterFormula;
using testing::CountersetFormulas;
using testing::Fields;
using testing::FieldsByInstance;
using testing::kJiffy;
using testing::MachineFiles;
using testing::NumberIn;
using testing::WordList;

// The numbers of the processors by the words of /proc/stat: "cpu12" is "12".
// std::nullopt for "cpu", their sum, and other words.
std::optional<std::string> NumberOfCpu(absl::string_view word) {
  if (!absl::ConsumePrefix(&word, "cpu") || !NumberIn(word).has_value()) {
    return std::nullopt;
  }
  return std::string(word);
}

// A row of /proc/interrupts or /proc/softirqs.
struct RowOfInterrupt {
  std::string label;
  std::map<std::string, uint64_t> counts;  // by the number of the CPU
  uint64_t sum = 0;
  std::string devices;  // empty if the processor's own
};

// The first line names the processors, "CPU0". Rows with too few numbers are
// counts of the whole machine, as are ERR and MIS if there is one processor.
// Two spaces come before the devices.
std::vector<RowOfInterrupt> ReadInterruptRows(const MachineFiles& files,
                                              const std::string& path) {
  std::vector<RowOfInterrupt> rows;
  WordList cpus;
  for (const std::string& line : files.Text(path)) {
    const WordList words =
        absl::StrSplit(line, absl::ByAnyChar(" \t:"), absl::SkipEmpty());
    if (cpus.empty()) {
      for (const std::string& word : words) cpus.push_back(word.substr(3));
      continue;
    }
    if (words.size() < 1 + cpus.size() || words[0] == "ERR" ||
        words[0] == "MIS") {
      continue;
    }
    RowOfInterrupt row = {.label = words[0]};
    for (size_t i = 0; i < cpus.size(); ++i) {
      const uint64_t count = NumberIn(words[1 + i]).value();
      row.counts[cpus[i]] = count;
      row.sum += count;
    }
    const bool is_of_device = NumberIn(row.label).has_value();
    if (is_of_device) row.devices = line.substr(line.rfind("  ") + 2);
    rows.push_back(row);
  }
  return rows;
}

void AddInterrupts(const std::string& cpu,
                   const std::vector<RowOfInterrupt>& interrupts,
                   const std::vector<RowOfInterrupt>& softirqs,
                   Fields* fields) {
  for (const RowOfInterrupt& row : interrupts) {
    const auto count = row.counts.find(cpu);
    if (count == row.counts.end()) continue;
    (*fields)["interrupts"] += count->second;
    if (row.label == "LOC") (*fields)["clock interrupts"] = count->second;
  }
  for (const RowOfInterrupt& row : softirqs) {
    const auto count = row.counts.find(cpu);
    if (count != row.counts.end()) (*fields)["softirqs"] += count->second;
  }
}

// The times of idle states by their exit latency in us, without the state in
// which the processor spins.
void AddIdleStates(const MachineFiles& files, const std::string& directory,
                   Fields* fields) {
  for (const std::string& state : files.Names(directory)) {
    const std::string path = directory + "/" + state + "/";
    const auto latency = files.Number(path + "latency");
    const auto time = files.Number(path + "time");
    const auto usage = files.Number(path + "usage");
    if (files.Line(path + "name") == WordList{"POLL"} || !latency || !time ||
        !usage) {
      continue;
    }
    const std::string level = *latency < 10    ? "C1"
                              : *latency < 100 ? "C2"
                                               : "C3";
    (*fields)[level + " time"] += *time;
    (*fields)[level + " usage"] += *usage;
  }
}

void AddFrequencies(const MachineFiles& files, const std::string& directory,
                    Fields* fields) {
  const auto now = files.Number(directory + "scaling_cur_freq");
  const auto limit = files.Number(directory + "scaling_max_freq");
  const auto highest = files.Number(directory + "cpuinfo_max_freq");
  if (now) (*fields)["kHz"] = *now;
  if (now && highest) (*fields)["% frequency"] = 100 * *now / *highest;
  if (limit && highest) (*fields)["% limit"] = 100 * *limit / *highest;
}

// Returns the NUMA node of a processor, which its directory has a link to: 0
// without NUMA.
std::string NodeOf(const MachineFiles& files, const std::string& directory) {
  for (const std::string& name : files.Names(directory)) {
    absl::string_view node = name;
    if (absl::ConsumePrefix(&node, "node") && NumberIn(node).has_value()) {
      return std::string(node);
    }
  }
  return "0";
}

// Returns the number of processors of the node before this one.
std::string IndexOf(const MachineFiles& files, const std::string& cpu,
                    const std::string& node) {
  uint64_t index = 0;
  for (uint64_t other = 0; other < NumberIn(cpu).value(); ++other) {
    const std::string directory =
        absl::StrCat("sys/devices/system/cpu/cpu", other, "/");
    if (NodeOf(files, directory) == node) ++index;
  }
  return absl::StrCat(index);
}

// The columns of /proc/stat, of which old kernels lack the last.
constexpr const char* kTimes[] = {"user",   "nice",      "system",  "idle",
                                  "iowait", "irq",       "softirq", "steal",
                                  "guest",  "guest_nice"};

FieldsByInstance ReadProcessors(const MachineFiles& files, bool has_nodes) {
  FieldsByInstance processors;
  const auto interrupts = ReadInterruptRows(files, "proc/interrupts");
  const auto softirqs = ReadInterruptRows(files, "proc/softirqs");
  for (const WordList& words : files.Lines("proc/stat")) {
    const auto cpu = NumberOfCpu(words.empty() ? "" : words[0]);
    if (!cpu.has_value()) continue;
    const std::string directory = "sys/devices/system/cpu/cpu" + *cpu + "/";
    const std::string node = NodeOf(files, directory);
    const std::string name =
        has_nodes ? node + "," + IndexOf(files, *cpu, node) : *cpu;
    Fields& fields = processors[name];
    for (size_t i = 0; i < std::size(kTimes); ++i) {
      fields[kTimes[i]] =
          1 + i < words.size() ? NumberIn(words[1 + i]).value() : 0;
    }
    AddInterrupts(*cpu, interrupts, softirqs, &fields);
    AddIdleStates(files, directory + "cpuidle", &fields);
    AddFrequencies(files, directory + "cpufreq/", &fields);
    for (const char* file :
         {"core_throttle_count", "core_throttle_total_time_ms"}) {
      files.AddNumber(directory + "thermal_throttle/" + file, file, &fields);
    }
    fields["parked"] = 0;  // /proc/stat has those in use only
  }
  return processors;
}

constexpr uint64_t kPerMicrosecond = 10;  // in units of 100 ns

// The kernel's proc.rst and Documentation/admin-guide/pm/cpuidle.rst.
std::vector<CounterFormula> ProcessorCounters() {
  return {{"% User Time", {"user", "nice"}, kJiffy},
          {"% Privileged Time", {"system", "irq", "softirq"}, kJiffy},
          {"Interrupts/sec", {"interrupts"}},
          {"% DPC Time", {"softirq"}, kJiffy},
          {"% Interrupt Time", {"irq"}, kJiffy},
          {"DPCs Queued/sec", {"softirqs"}},
          {"% Idle Time", {"idle", "iowait"}, kJiffy},
          {"% C1 Time", {"C1 time"}, kPerMicrosecond},
          {"% C2 Time", {"C2 time"}, kPerMicrosecond},
          {"% C3 Time", {"C3 time"}, kPerMicrosecond},
          {"C1 Transitions/sec", {"C1 usage"}},
          {"C2 Transitions/sec", {"C2 usage"}},
          {"C3 Transitions/sec", {"C3 usage"}},
          {"% Steal Time", {"steal"}, kJiffy},
          {"% Guest Time", {"guest", "guest_nice"}, kJiffy},
          {"% IO Wait Time", {"iowait"}, kJiffy}};
}

CountersetFormulas ProcessorFormulas() {
  return {.counterset = "Processor",
          .counters = ProcessorCounters(),
          .read =
              [](const MachineFiles& files) {
                return ReadProcessors(files, /*has_nodes=*/false);
              },
          // In this_machine_test.cc and cpu_lives_test.cc.
          .elsewhere = {"% Processor Time", "id:1999"}};
}

CountersetFormulas ProcessorInformationFormulas() {
  constexpr uint64_t kMillisecond = 10'000;  // in units of 100 ns
  CountersetFormulas formulas = {
      .counterset = "Processor Information",
      .counters = {{"Processor Frequency", {"kHz"}, 1, 1000},
                   {"% of Maximum Frequency", {"% frequency"}},
                   {"Clock Interrupts/sec", {"clock interrupts"}},
                   {"Parking Status", {"parked"}},
                   {"% Performance Limit", {"% limit"}},
                   {"Thermal Throttles", {"core_throttle_count"}},
                   {"% Thermal Throttle Time",
                    {"core_throttle_total_time_ms"},
                    kMillisecond},
                   {"Idle Break Events/sec",
                    {"C1 usage", "C2 usage", "C3 usage"}},
                   {"Average Idle Time",
                    {"C1 time", "C2 time", "C3 time"},
                    kPerMicrosecond},
                   // Its base; the type multiplies by 100.
                   {"id:22", {"C1 usage", "C2 usage", "C3 usage"}, 100}},
      .read =
          [](const MachineFiles& files) {
            return ReadProcessors(files, /*has_nodes=*/true);
          },
      // The first is in this_machine_test.cc, the others with simulated
      // processors in processor_information_test.cc.
      .elsewhere = {"% Processor Time", "% Processor Performance",
                    "% Processor Utility", "% Privileged Utility", "id:25",
                    "id:27", "id:1999"}};
  for (const CounterFormula& formula : ProcessorCounters()) {
    formulas.counters.push_back(formula);
  }
  return formulas;
}

// The kernel's sched-stats.rst: the first field is after the processor's name.
FieldsByInstance ReadScheduler(const MachineFiles& files) {
  FieldsByInstance processors;
  for (const WordList& words : files.Lines("proc/schedstat")) {
    const auto cpu = NumberOfCpu(words.empty() ? "" : words[0]);
    if (!cpu.has_value()) continue;
    for (size_t field = 1; field < words.size(); ++field) {
      processors[*cpu][absl::StrCat("field ", field)] =
          NumberIn(words[field]).value();
    }
  }
  return processors;
}

CountersetFormulas LinuxSchedulerFormulas() {
  constexpr uint64_t kPer100Ns = 100;  // nanoseconds
  return {
      .counterset = "Linux Scheduler",
      .counters = {{"% Run Time", {"field 7"}, 1, kPer100Ns},
                   {"% Run Delay", {"field 8"}, 1, kPer100Ns},
                   {"Timeslices/sec", {"field 9"}},
                   {"Avg. sec/Timeslice", {"field 7"}, 1, kPer100Ns},
                   {"Avg. Delay sec/Timeslice", {"field 8"}, 1, kPer100Ns},
                   {"id:1100", {"field 9"}},  // what averages are divided by
                   {"Yields/sec", {"field 1"}},
                   {"Schedules/sec", {"field 3"}},
                   {"Idle Schedules/sec", {"field 4"}},
                   {"Wakeups/sec", {"field 5"}},
                   {"Local Wakeups/sec", {"field 6"}}},
      .read = ReadScheduler};
}

// The sources that have fired.
FieldsByInstance ReadInterrupts(const MachineFiles& files) {
  FieldsByInstance sources;
  for (const RowOfInterrupt& row :
       ReadInterruptRows(files, "proc/interrupts")) {
    if (row.sum == 0) continue;
    const std::string name =
        row.devices.empty() ? row.label : row.devices + ":" + row.label;
    sources[name] = {{"sum", row.sum}};
  }
  for (const RowOfInterrupt& row : ReadInterruptRows(files, "proc/softirqs")) {
    if (row.sum != 0) sources["softirq " + row.label] = {{"sum", row.sum}};
  }
  return sources;
}

CountersetFormulas LinuxInterruptsFormulas() {
  return {.counterset = "Linux Interrupts",
          .counters = {{"Interrupts/sec", {"sum"}}},
          .read = ReadInterrupts};
}

const std::set<std::string> kOfInterrupts = {"Interrupts/sec",
                                             "DPCs Queued/sec"};
const std::set<std::string> kOfAllInterrupts = {
    "Interrupts/sec", "DPCs Queued/sec", "Clock Interrupts/sec"};

class ProcessorsOfThisMachineTest : public testing::EveryCounterFixture {
 protected:
  ProcessorsOfThisMachineTest() { UseThisMachine(); }

  // Some containers hide them.
  bool HasInterrupts() const {
    return Files().Has("proc/interrupts") && Files().Has("proc/softirqs");
  }
};

TEST_F(ProcessorsOfThisMachineTest, Processor) {
  ExpectEveryCounter(HasInterrupts()
                         ? ProcessorFormulas()
                         : Without(kOfInterrupts, ProcessorFormulas()));
}

TEST_F(ProcessorsOfThisMachineTest, ProcessorInformation) {
  ExpectEveryCounter(HasInterrupts() ? ProcessorInformationFormulas()
                                     : Without(kOfAllInterrupts,
                                               ProcessorInformationFormulas()));
}

TEST_F(ProcessorsOfThisMachineTest, LinuxScheduler) {
  ExpectEveryCounter(LinuxSchedulerFormulas());
}

TEST_F(ProcessorsOfThisMachineTest, LinuxInterrupts) {
  ExpectEveryCounter(LinuxInterruptsFormulas());
}

class RecordedProcessorsTest : public testing::RecordedTrees {};

TEST_F(RecordedProcessorsTest, Laptop) {
  Unpack("scsi-map-root-001", "./proc");
  ExpectEveryCounter(ProcessorFormulas());
  ExpectEveryCounter(ProcessorInformationFormulas());
  ExpectEveryCounter(LinuxInterruptsFormulas());
}

TEST_F(RecordedProcessorsTest, Scheduler) {
  UnpackProcfs("proc/schedstat");
  ExpectEveryCounter(LinuxSchedulerFormulas());
}

// A tree and the part of it that is unpacked.
struct ProcessorTree {
  const char* name;
  const char* part = "";
};

class RecordedTimesTest : public testing::RecordedTrees,
                          public ::testing::WithParamInterface<ProcessorTree> {
};

// The trees have no interrupts.
TEST_P(RecordedTimesTest, AgreeWithTheTree) {
  Unpack(GetParam().name, GetParam().part);
  ExpectEveryCounter(Without(kOfInterrupts, ProcessorFormulas()));
  ExpectEveryCounter(Without(kOfAllInterrupts, ProcessorInformationFormulas()));
}

constexpr char kStatOnly[] = "--wildcards '*proc/stat'";

INSTANTIATE_TEST_SUITE_P(
    Trees, RecordedTimesTest,
    ::testing::Values(
        ProcessorTree{"bigsys-root-hpbl920gen8", kStatOnly},  // 480 CPUs
        ProcessorTree{"sysdev-root-001"},  // idle states and throttling
        ProcessorTree{"sysdev-root-002"},  // frequencies, time of throttling
        ProcessorTree{"sysfs-numa-001",    // four nodes
                      "--wildcards '*proc/stat' '*/cpu/cpu[0-9]*/node[0-9]*' "
                      "'*/node/online' '*/node[0-9]*/cpulist'"},
        ProcessorTree{"meminfo-root-001", kStatOnly},
        ProcessorTree{"meminfo-root-002", kStatOnly},
        ProcessorTree{"meminfo-root-003", kStatOnly},
        ProcessorTree{"meminfo-root-004", kStatOnly},
        ProcessorTree{"meminfo-root-005", kStatOnly},
        ProcessorTree{"meminfo-root-006", kStatOnly},
        ProcessorTree{"meminfo-root-007", kStatOnly}));

}  // namespace
}  // namespace fleetperf::agent
