// Every counter of memory and swap, compared with this machine's /proc/meminfo,
// /proc/vmstat, /proc/swaps and /sys/devices/system/node, and with those of
// recorded trees.

#include <algorithm>
#include <map>
#include <memory>

#include "absl/strings/strip.h"
#include "tests/agent/source/linux/every_counter.h"
#include "tests/agent/source/linux/recorded_trees.h"

namespace fleetperf::agent {
namespace {

using testing::CountersetFormulas;
using testing::Fields;
using testing::FieldsByInstance;
using testing::kKib;
using testing::MachineFiles;
using testing::WordList;

// The names of the two files' lines differ.
FieldsByInstance ReadMemory(const MachineFiles& files) {
  Fields fields;
  files.AddNumbers("proc/meminfo", &fields);
  files.AddNumbers("proc/vmstat", &fields);
  if (fields.contains("MemAvailable")) {
    fields["used"] = fields["MemTotal"] - fields["MemAvailable"];
  }
  return {{"", fields}};
}

// The kernel's proc.rst: /proc/meminfo is in KiB, the pages of huge pages
// excepted.
CountersetFormulas MemoryFormulas() {
  return {
      .counterset = "Memory",
      .counters = {{"Available Bytes", {"MemAvailable"}, kKib},
                   {"Available KBytes", {"MemAvailable"}},
                   {"Available MBytes", {"MemAvailable"}, 1, 1024},
                   {"Committed Bytes", {"Committed_AS"}, kKib},
                   {"Commit Limit", {"CommitLimit"}, kKib},
                   {"% Committed Bytes In Use", {"Committed_AS"}},
                   {"id:1100", {"CommitLimit"}},  // of which it is a percentage
                   {"Page Faults/sec", {"pgfault"}},
                   {"Pages Input/sec", {"pswpin"}},
                   {"Page Reads/sec", {"pgmajfault"}},
                   {"Pages Output/sec", {"pswpout"}},
                   {"Pages/sec", {"pswpin", "pswpout"}},
                   {"Cache Bytes", {"Cached", "Buffers", "SReclaimable"}, kKib},
                   {"Free & Zero Page List Bytes", {"MemFree"}, kKib},
                   {"Modified Page List Bytes", {"Dirty", "Writeback"}, kKib},
                   {"Standby Cache Normal Priority Bytes",
                    {"Inactive(file)"},
                    kKib},
                   {"Pool Nonpaged Bytes",
                    {"SUnreclaim", "KernelStack", "PageTables"},
                    kKib},
                   {"Pool Paged Bytes", {"SReclaimable"}, kKib},
                   {"Transition Faults/sec", {"workingset_refault_file"}},
                   {"Transition Pages RePurposed/sec",
                    {"pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged",
                     "pgsteal_proactive"}},
                   {"Total Bytes", {"MemTotal"}, kKib},
                   {"Anonymous Bytes", {"AnonPages"}, kKib},
                   {"Shared Bytes", {"Shmem"}, kKib},
                   {"Swap Total Bytes", {"SwapTotal"}, kKib},
                   {"Swap Free Bytes", {"SwapFree"}, kKib},
                   {"Huge Pages", {"HugePages_Total"}},
                   {"Huge Pages Free", {"HugePages_Free"}},
                   {"Used Bytes", {"used"}, kKib}},
      .read = ReadMemory,
  };
}

CountersetFormulas LinuxMemoryFormulas() {
  return {
      .counterset = "Linux Memory",
      .counters =
          {{"Buffers Bytes", {"Buffers"}, kKib},
           {"Page Cache Bytes", {"Cached"}, kKib},
           {"Swap Cache Bytes", {"SwapCached"}, kKib},
           {"Active Anonymous Bytes", {"Active(anon)"}, kKib},
           {"Inactive Anonymous Bytes", {"Inactive(anon)"}, kKib},
           {"Active File Bytes", {"Active(file)"}, kKib},
           {"Inactive File Bytes", {"Inactive(file)"}, kKib},
           {"Unevictable Bytes", {"Unevictable"}, kKib},
           {"Locked Bytes", {"Mlocked"}, kKib},
           {"Mapped Bytes", {"Mapped"}, kKib},
           {"Dirty Bytes", {"Dirty"}, kKib},
           {"Writeback Bytes", {"Writeback"}, kKib},
           {"Slab Reclaimable Bytes", {"SReclaimable"}, kKib},
           {"Slab Unreclaimable Bytes", {"SUnreclaim"}, kKib},
           {"Kernel Stack Bytes", {"KernelStack"}, kKib},
           {"Page Tables Bytes", {"PageTables"}, kKib},
           {"Per-CPU Bytes", {"Percpu"}, kKib},
           {"Vmalloc Bytes", {"VmallocUsed"}, kKib},
           {"Hardware Corrupted Bytes", {"HardwareCorrupted"}, kKib},
           {"Anonymous Huge Page Bytes", {"AnonHugePages"}, kKib},
           {"Shared Huge Page Bytes", {"ShmemHugePages"}, kKib},
           {"File Huge Page Bytes", {"FileHugePages"}, kKib},
           {"Huge Pages Reserved", {"HugePages_Rsvd"}},
           {"Huge Pages Surplus", {"HugePages_Surp"}},
           {"Hugetlb Bytes", {"Hugetlb"}, kKib},
           {"Zswap Bytes", {"Zswap"}, kKib},
           {"Zswap Stored Bytes", {"Zswapped"}, kKib},
           {"Pages Scanned By kswapd/sec", {"pgscan_kswapd"}},
           {"Pages Scanned Directly/sec", {"pgscan_direct"}},
           {"Pages Scanned Otherwise/sec",
            {"pgscan_khugepaged", "pgscan_proactive"}},
           {"Pages Reclaimed By kswapd/sec", {"pgsteal_kswapd"}},
           {"Pages Reclaimed Directly/sec", {"pgsteal_direct"}},
           {"Pages Reclaimed Otherwise/sec",
            {"pgsteal_khugepaged", "pgsteal_proactive"}},
           // One count before Linux 4.8, then one for each zone.
           {"Direct Reclaims/sec",
            {"allocstall", "allocstall_dma", "allocstall_dma32",
             "allocstall_normal", "allocstall_movable", "allocstall_device"}},
           {"Anonymous Refaults/sec", {"workingset_refault_anon"}},
           // One count before Linux 5.9, of files only.
           {"File Refaults/sec",
            {"workingset_refault", "workingset_refault_file"}},
           {"Anonymous Activations/sec", {"workingset_activate_anon"}},
           {"File Activations/sec",
            {"workingset_activate", "workingset_activate_file"}},
           {"Out Of Memory Kills", {"oom_kill"}},
           {"Compaction Stalls/sec", {"compact_stall"}},
           {"Compaction Failures/sec", {"compact_fail"}},
           {"Compaction Successes/sec", {"compact_success"}},
           {"Compaction Daemon Wakes/sec", {"compact_daemon_wake"}},
           {"Pages Migrated/sec", {"pgmigrate_success"}},
           {"Page Migration Failures/sec", {"pgmigrate_fail"}},
           {"Huge Page Faults/sec", {"thp_fault_alloc"}},
           {"Huge Page Fallbacks/sec", {"thp_fault_fallback"}},
           {"Huge Page Collapses/sec", {"thp_collapse_alloc"}},
           {"Huge Page Collapse Failures/sec", {"thp_collapse_alloc_failed"}},
           {"Huge Page Splits/sec", {"thp_split_page"}},
           {"Zswap Pages In/sec", {"zswpin"}},
           {"Zswap Pages Out/sec", {"zswpout"}},
           {"Zswap Writeback Pages/sec", {"zswpwb"}},
           {"NUMA Hint Faults/sec", {"numa_hint_faults"}},
           {"NUMA Pages Migrated/sec", {"numa_pages_migrated"}},
           {"Block Input Bytes/sec", {"pgpgin"}, kKib},
           {"Block Output Bytes/sec", {"pgpgout"}, kKib},
           {"Pages Freed/sec", {"pgfree"}},
           {"Pages Dirtied/sec", {"nr_dirtied"}},
           {"Pages Written/sec", {"nr_written"}},
           {"Direct Reclaims Throttled/sec", {"pgscan_direct_throttle"}},
           {"NUMA Misses/sec", {"numa_miss"}}},
      .read = ReadMemory,
  };
}

// Lines of a node's meminfo: Node 0 MemTotal: 5 kB.
FieldsByInstance ReadNodes(const MachineFiles& files) {
  FieldsByInstance nodes;
  const std::string directory = "sys/devices/system/node/";
  for (const std::string& name : files.Names(directory)) {
    absl::string_view number = name;
    if (!absl::ConsumePrefix(&number, "node")) continue;
    if (!testing::NumberIn(number).has_value()) continue;
    Fields& fields = nodes[std::string(number)];
    constexpr size_t kWordsBefore = 2;
    files.AddNumbers(directory + name + "/meminfo", &fields, kWordsBefore);
    files.AddNumbers(directory + name + "/numastat", &fields);
  }
  return nodes;
}

CountersetFormulas NumaNodeMemoryFormulas() {
  constexpr uint64_t kKibInMib = 1024;
  return {
      .counterset = "NUMA Node Memory",
      .counters = {{"Total MBytes", {"MemTotal"}, 1, kKibInMib},
                   {"Free & Zero Page List MBytes", {"MemFree"}, 1, kKibInMib},
                   {"Standby List MBytes",
                    {"Active(file)", "Inactive(file)"},
                    1,
                    kKibInMib},
                   {"Available MBytes",
                    {"MemFree", "Active(file)", "Inactive(file)",
                     "SReclaimable"},
                    1,
                    kKibInMib},
                   {"Anonymous MBytes", {"AnonPages"}, 1, kKibInMib},
                   {"Modified MBytes", {"Dirty", "Writeback"}, 1, kKibInMib},
                   {"Slab MBytes", {"Slab"}, 1, kKibInMib},
                   // The kernel's numastat.rst.
                   {"Numa Hits/sec", {"numa_hit"}},
                   {"Numa Misses/sec", {"numa_miss"}},
                   {"Numa Foreign/sec", {"numa_foreign"}},
                   {"Local Allocations/sec", {"local_node"}},
                   {"Remote Allocations/sec", {"other_node"}}},
      .read = ReadNodes,
  };
}

// Columns: name, type, size and used in KiB, priority. The peak is that of the
// readings.
FieldsByInstance ReadSwaps(const MachineFiles& files,
                           std::map<std::string, uint64_t>* peaks) {
  FieldsByInstance swaps;
  for (const WordList& words : files.Lines("proc/swaps")) {
    if (words.size() < 4 || words[0] == "Filename") continue;
    const uint64_t used = testing::NumberIn(words[3]).value_or(0);
    uint64_t& peak = (*peaks)[words[0]];
    peak = std::max(peak, used);
    swaps[words[0]] = {{"size", testing::NumberIn(words[2]).value_or(0)},
                       {"used", used},
                       {"peak", peak}};
  }
  return swaps;
}

CountersetFormulas PagingFileFormulas() {
  const auto peaks = std::make_shared<std::map<std::string, uint64_t>>();
  return {.counterset = "Paging File",
          .counters = {{"% Usage", {"used"}},
                       {"% Usage Peak", {"peak"}},
                       {"id:1100", {"size"}},  // of which they are percentages
                       {"Size Bytes", {"size"}, kKib},
                       {"Used Bytes", {"used"}, kKib}},
          .read = [peaks](const MachineFiles& files) {
            return ReadSwaps(files, peaks.get());
          }};
}

class MemoryOfThisMachineTest : public testing::EveryCounterFixture {
 protected:
  MemoryOfThisMachineTest() { UseThisMachine(); }
};

TEST_F(MemoryOfThisMachineTest, Memory) {
  ExpectEveryCounter(MemoryFormulas());
}

TEST_F(MemoryOfThisMachineTest, LinuxMemory) {
  ExpectEveryCounter(LinuxMemoryFormulas());
}

TEST_F(MemoryOfThisMachineTest, NumaNodeMemory) {
  ExpectEveryCounter(NumaNodeMemoryFormulas());
}

TEST_F(MemoryOfThisMachineTest, PagingFile) {
  ExpectEveryCounter(PagingFileFormulas());
}

class RecordedMemoryTest : public testing::RecordedTrees,
                           public ::testing::WithParamInterface<const char*> {};

TEST_P(RecordedMemoryTest, AgreesWithTheTree) {
  Unpack(GetParam());
  ExpectEveryCounter(MemoryFormulas());
  ExpectEveryCounter(LinuxMemoryFormulas());
  ExpectEveryCounter(NumaNodeMemoryFormulas());
}

INSTANTIATE_TEST_SUITE_P(
    Trees, RecordedMemoryTest,
    ::testing::Values("meminfo-root-001", "meminfo-root-002",
                      "meminfo-root-003", "meminfo-root-004",
                      "meminfo-root-005", "meminfo-root-006",
                      "meminfo-root-007"));

class RecordedSwapTest : public testing::RecordedTrees {};

TEST_F(RecordedSwapTest, AgreesWithTheTree) {
  UnpackProcfs("proc/swaps");
  ExpectEveryCounter(PagingFileFormulas());
}

}  // namespace
}  // namespace fleetperf::agent
