#include "tests/agent/source/linux/linux_fixture.h"
#include "tests/support/log_capture.h"

namespace fleetperf::agent {
namespace {

using testing::kKib;
using testing::Reading;
using testing::Values;

class MemoryTest : public testing::LinuxFixture {
 protected:
  MemoryTest() {
    Write("proc/meminfo", R"(MemTotal:       16310000 kB
MemFree:         1000001 kB
MemAvailable:    9000003 kB
Buffers:             100 kB
Cached:             2000 kB
SwapCached:            7 kB
Active:               11 kB
Inactive:             12 kB
Active(anon):         13 kB
Inactive(anon):       14 kB
Active(file):         15 kB
Inactive(file):      300 kB
Unevictable:          16 kB
SwapTotal:       4000000 kB
SwapFree:        3999999 kB
Dirty:                40 kB
Writeback:             2 kB
AnonPages:         50000 kB
Mapped:               17 kB
Shmem:              6000 kB
KReclaimable:         18 kB
Slab:                 19 kB
SReclaimable:      70000 kB
SUnreclaim:         8000 kB
KernelStack:         900 kB
PageTables:           10 kB
NFS_Unstable:          0 kB
WritebackTmp:         21 kB
CommitLimit:    12155000 kB
Committed_AS:    2431000 kB
HugePages_Total:      12
HugePages_Free:        5
HugePages_Rsvd:        1
Hugepagesize:       2048 kB
)");
    Write("proc/vmstat", R"(nr_free_pages 22
workingset_refault_anon 23
workingset_refault_file 111
pgpgin 24
pswpin 3
pswpout 40
pgfault 5000000000
pgmajfault 600
pgsteal_kswapd 7000
pgsteal_direct 80
pgsteal_khugepaged 25
pgsteal_proactive 6
pgsteal_anon 7100
pgsteal_file 11
oom_kill 9
compact_stall 10
)");
  }
};

TEST_F(MemoryTest, ReadsEveryCounter) {
  const Reading reading = Sample("Memory");
  EXPECT_EQ(reading.rows.at(""),
            (Values{
                {"Available Bytes", 9000003 * kKib},
                {"Available KBytes", 9000003},
                {"Available MBytes", 8789},  // 9000003 / 1024 = 8789.06
                {"Committed Bytes", 2431000 * kKib},
                {"Commit Limit", 12155000 * kKib},
                // PERF_RAW_FRACTION: 100 * this / id:1100 is 20 %.
                {"% Committed Bytes In Use", 2431000},
                {"id:1100", 12155000},
                {"Page Faults/sec", 5'000'000'000},  // more than 32 bits
                {"Pages Input/sec", 3},
                {"Page Reads/sec", 600},
                {"Pages Output/sec", 40},
                {"Pages/sec", 3 + 40},
                {"Cache Bytes", (100 + 2000 + 70000) * kKib},
                {"Free & Zero Page List Bytes", 1000001 * kKib},
                {"Modified Page List Bytes", (40 + 2) * kKib},
                {"Standby Cache Normal Priority Bytes", 300 * kKib},
                {"Pool Nonpaged Bytes", (8000 + 900 + 10) * kKib},
                {"Pool Paged Bytes", 70000 * kKib},
                {"Transition Faults/sec", 111},
                {"Transition Pages RePurposed/sec", 7000 + 80 + 25 + 6},
                {"Total Bytes", 16310000 * kKib},
                {"Anonymous Bytes", 50000 * kKib},
                {"Shared Bytes", 6000 * kKib},
                {"Swap Total Bytes", 4000000 * kKib},
                {"Swap Free Bytes", 3999999 * kKib},
                {"Huge Pages", 12},
                {"Huge Pages Free", 5},
                {"Used Bytes", (16310000 - 9000003) * kKib},
            }));
}

TEST_F(MemoryTest, OmitsValuesThatTheKernelLacks) {
  Write("proc/meminfo", "MemTotal: 100 kB\nCached: 7 kB\n");
  Write("proc/vmstat", "");
  // A part of Cache Bytes is not the whole.
  EXPECT_EQ(Sample("Memory").rows.at(""),
            (Values{{"Total Bytes", 100 * kKib}}));
}

TEST_F(MemoryTest, AMissingFileLacksOnlyItsCounters) {
  Remove("proc/vmstat");
  const Reading reading = Sample("Memory");
  EXPECT_EQ(reading.Get("", "Page Faults/sec"), std::nullopt);
  EXPECT_EQ(reading.Get("", "Swap Free Bytes"), 3999999 * kKib);
  Sample("Linux Memory");
  // Both countersets lack it.
  EXPECT_EQ(source().Limitations().size(), 2);
}

TEST_F(MemoryTest, WarnsOnceOfAMissingFile) {
  Remove("proc/vmstat");
  testing::LogCapture log;
  Sample("Memory");
  Sample("Linux Memory");
  Sample("Memory");
  ASSERT_EQ(log.Lines().size(), 1);
  EXPECT_THAT(log.Lines()[0], ::testing::HasSubstr(PathOf("proc/vmstat")));
}

TEST_F(MemoryTest, FindsLinesInAnyOrder) {
  Write("proc/meminfo", "Writeback: 1 kB\nDirty: 2 kB\nMemTotal: 3 kB\n");
  Write("proc/vmstat", "pswpout 4\nunknown 9\npswpin 5\n");
  EXPECT_EQ(Sample("Memory").rows.at(""),
            (Values{{"Modified Page List Bytes", 3 * kKib},
                    {"Total Bytes", 3 * kKib},
                    {"Pages Input/sec", 5},
                    {"Pages Output/sec", 4},
                    {"Pages/sec", 9}}));
}

}  // namespace
}  // namespace fleetperf::agent
