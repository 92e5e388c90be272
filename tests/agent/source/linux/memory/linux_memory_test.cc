#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::kKib;
using testing::Reading;
using testing::Values;

constexpr char kLinuxMemory[] = "Linux Memory";

class LinuxMemoryTest : public testing::LinuxFixture {};

// Every line of Linux 6.18 that counts, among lines that do not.
TEST_F(LinuxMemoryTest, ReadsEveryCounter) {
  Write("proc/meminfo", R"(MemTotal:       16310000 kB
MemFree:         1000001 kB
Buffers:             101 kB
Cached:              102 kB
SwapCached:          103 kB
Active:                9 kB
Inactive:              9 kB
Active(anon):        104 kB
Inactive(anon):      105 kB
Active(file):        106 kB
Inactive(file):      107 kB
Unevictable:         108 kB
Mlocked:             109 kB
SwapTotal:             9 kB
Zswap:               110 kB
Zswapped:            111 kB
Dirty:               112 kB
Writeback:           113 kB
AnonPages:             9 kB
Mapped:              114 kB
Shmem:                 9 kB
KReclaimable:          9 kB
Slab:                  9 kB
SReclaimable:        115 kB
SUnreclaim:          116 kB
KernelStack:         117 kB
PageTables:          118 kB
SecPageTables:         9 kB
WritebackTmp:          9 kB
VmallocTotal:   34359738367 kB
VmallocUsed:         119 kB
Percpu:              120 kB
HardwareCorrupted:   121 kB
AnonHugePages:       122 kB
ShmemHugePages:      123 kB
ShmemPmdMapped:        9 kB
FileHugePages:       124 kB
HugePages_Total:       9
HugePages_Free:        9
HugePages_Rsvd:      125
HugePages_Surp:      126
Hugepagesize:       2048 kB
Hugetlb:             127 kB
)");
  Write("proc/vmstat", R"(nr_free_pages 9
nr_dirty 9
numa_hit 9
numa_miss 231
nr_dirtied 232
nr_written 233
workingset_refault_anon 201
workingset_refault_file 202
workingset_activate_anon 203
workingset_activate_file 204
workingset_restore_anon 9
pgpgin 205
pgpgout 206
pswpin 9
allocstall_dma 1
allocstall_dma32 20
allocstall_normal 300
allocstall_movable 4000
allocstall_device 50000
pgfree 5000000000
pgsteal_kswapd 208
pgsteal_direct 209
pgsteal_khugepaged 210
pgsteal_proactive 3000
pgscan_kswapd 211
pgscan_direct 212
pgscan_khugepaged 213
pgscan_proactive 4000
pgscan_direct_throttle 234
oom_kill 214
numa_hint_faults 215
numa_hint_faults_local 9
numa_pages_migrated 216
pgmigrate_success 217
pgmigrate_fail 218
compact_stall 219
compact_fail 220
compact_success 221
compact_daemon_wake 222
thp_fault_alloc 223
thp_fault_fallback 224
thp_fault_fallback_charge 9
thp_collapse_alloc 225
thp_collapse_alloc_failed 226
thp_split_page 227
thp_split_page_failed 9
zswpin 228
zswpout 229
zswpwb 230
)");
  const Reading reading = Sample(kLinuxMemory);
  EXPECT_EQ(reading.rows.at(""),
            (Values{
                {"Buffers Bytes", 101 * kKib},
                {"Page Cache Bytes", 102 * kKib},
                {"Swap Cache Bytes", 103 * kKib},
                {"Active Anonymous Bytes", 104 * kKib},
                {"Inactive Anonymous Bytes", 105 * kKib},
                {"Active File Bytes", 106 * kKib},
                {"Inactive File Bytes", 107 * kKib},
                {"Unevictable Bytes", 108 * kKib},
                {"Locked Bytes", 109 * kKib},
                {"Zswap Bytes", 110 * kKib},
                {"Zswap Stored Bytes", 111 * kKib},
                {"Dirty Bytes", 112 * kKib},
                {"Writeback Bytes", 113 * kKib},
                {"Mapped Bytes", 114 * kKib},
                {"Slab Reclaimable Bytes", 115 * kKib},
                {"Slab Unreclaimable Bytes", 116 * kKib},
                {"Kernel Stack Bytes", 117 * kKib},
                {"Page Tables Bytes", 118 * kKib},
                {"Vmalloc Bytes", 119 * kKib},
                {"Per-CPU Bytes", 120 * kKib},
                {"Hardware Corrupted Bytes", 121 * kKib},
                {"Anonymous Huge Page Bytes", 122 * kKib},
                {"Shared Huge Page Bytes", 123 * kKib},
                {"File Huge Page Bytes", 124 * kKib},
                {"Huge Pages Reserved", 125},
                {"Huge Pages Surplus", 126},
                {"Hugetlb Bytes", 127 * kKib},
                {"Anonymous Refaults/sec", 201},
                {"File Refaults/sec", 202},
                {"Anonymous Activations/sec", 203},
                {"File Activations/sec", 204},
                {"Block Input Bytes/sec", 205 * kKib},
                {"Block Output Bytes/sec", 206 * kKib},
                {"Direct Reclaims/sec", 54321},
                {"Pages Freed/sec", 5'000'000'000},  // more than 32 bits
                {"Pages Reclaimed By kswapd/sec", 208},
                {"Pages Reclaimed Directly/sec", 209},
                {"Pages Reclaimed Otherwise/sec", 3210},
                {"Pages Scanned By kswapd/sec", 211},
                {"Pages Scanned Directly/sec", 212},
                {"Pages Scanned Otherwise/sec", 4213},
                {"Out Of Memory Kills", 214},
                {"NUMA Hint Faults/sec", 215},
                {"NUMA Pages Migrated/sec", 216},
                {"Pages Migrated/sec", 217},
                {"Page Migration Failures/sec", 218},
                {"Compaction Stalls/sec", 219},
                {"Compaction Failures/sec", 220},
                {"Compaction Successes/sec", 221},
                {"Compaction Daemon Wakes/sec", 222},
                {"Huge Page Faults/sec", 223},
                {"Huge Page Fallbacks/sec", 224},
                {"Huge Page Collapses/sec", 225},
                {"Huge Page Collapse Failures/sec", 226},
                {"Huge Page Splits/sec", 227},
                {"Zswap Pages In/sec", 228},
                {"Zswap Pages Out/sec", 229},
                {"Zswap Writeback Pages/sec", 230},
                {"NUMA Misses/sec", 231},
                {"Pages Dirtied/sec", 232},
                {"Pages Written/sec", 233},
                {"Direct Reclaims Throttled/sec", 234},
            }));
}

// Linux 4.18 has one number for refaults of files, and knows no zswap counters.
TEST_F(LinuxMemoryTest, ReadsAnOldKernel) {
  Write("proc/meminfo", "Buffers: 1 kB\nKernelStack: 2 kB\n");
  Write("proc/vmstat",
        "workingset_refault 3\nworkingset_activate 4\nallocstall_normal 5\n");
  EXPECT_EQ(Sample(kLinuxMemory).rows.at(""),
            (Values{{"Buffers Bytes", 1 * kKib},
                    {"Kernel Stack Bytes", 2 * kKib},
                    {"File Refaults/sec", 3},
                    {"File Activations/sec", 4},
                    {"Direct Reclaims/sec", 5}}));
}

// Lines keep their order while a machine runs, but need not.
TEST_F(LinuxMemoryTest, FollowsLinesThatMove) {
  Write("proc/vmstat", "");
  Write("proc/meminfo", "Dirty: 1 kB\nMemFree: 9 kB\nMapped: 2 kB\n");
  Sample(kLinuxMemory);
  Write("proc/meminfo", "Mapped: 3 kB\nDirty: 4 kB\nBuffers: 5 kB\n");
  EXPECT_EQ(Sample(kLinuxMemory).rows.at(""),
            (Values{{"Dirty Bytes", 4 * kKib},
                    {"Mapped Bytes", 3 * kKib},
                    {"Buffers Bytes", 5 * kKib}}));
  Write("proc/meminfo", "\nMapped\nDirty: many kB\nBuffers: 6 kB");
  EXPECT_EQ(Sample(kLinuxMemory).rows.at(""),
            (Values{{"Buffers Bytes", 6 * kKib}}));
}

TEST_F(LinuxMemoryTest, ReadsOnlyTheFilesOfNeededCounters) {
  constexpr uint32_t kBuffers = 1000;
  constexpr uint32_t kScannedByKswapd = 1027;
  Write("proc/meminfo", "Buffers: 1 kB\n");
  EXPECT_EQ(Sample(kLinuxMemory, {kBuffers}).Get("", "Buffers Bytes"), kKib);
  EXPECT_EQ(Sample(kLinuxMemory, {kScannedByKswapd}).rows.at(""), Values{});
  Remove("proc/meminfo");
  Write("proc/vmstat", "pgscan_kswapd 7\n");
  EXPECT_EQ(Sample(kLinuxMemory, {kScannedByKswapd})
                .Get("", "Pages Scanned By kswapd/sec"),
            7);
}

}  // namespace
}  // namespace fleetperf::agent
