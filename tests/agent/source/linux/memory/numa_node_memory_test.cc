#include "agent/source/linux/memory/numa_node_memory.h"

#include "perflib/utf16.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Reading;
using testing::Values;

class NumaNodeMemoryTest : public testing::LinuxFixture {
 protected:
  static constexpr char kNodes[] = "NUMA Node Memory";

  // `mib` is the number in each line of meminfo, in MiB.
  void WriteNode(int node, int mib, int pages) {
    const std::string directory =
        absl::StrCat("sys/devices/system/node/node", node);
    std::string meminfo;
    for (const char* key :
         {"MemTotal", "MemFree", "MemUsed", "Active", "Inactive(file)",
          "Active(file)", "Dirty", "Writeback", "FilePages", "AnonPages",
          "SReclaimable", "Slab"}) {
      absl::StrAppend(&meminfo, "Node ", node, " ", key, ":       ", mib * 1024,
                      " kB\n");
    }
    absl::StrAppend(&meminfo, "Node ", node, " HugePages_Total:     0\n");
    Write(directory + "/meminfo", meminfo);
    Write(directory + "/numastat",
          absl::StrCat("numa_hit ", pages, "\nnuma_miss ", pages + 1,
                       "\nnuma_foreign ", pages + 2, "\ninterleave_hit 9\n",
                       "local_node ", pages + 3, "\nother_node ", pages + 4,
                       "\n"));
  }
};

TEST_F(NumaNodeMemoryTest, ReadsEveryCounter) {
  WriteNode(0, 100, 7);
  Write("sys/devices/system/node/online", "0\n");
  const Reading reading = Sample(kNodes);
  EXPECT_THAT(reading.names, ElementsAre("0", "_Total"));
  const Values expected = {
      {"Total MBytes", 100},          {"Free & Zero Page List MBytes", 100},
      {"Standby List MBytes", 200},   // two kinds of file pages
      {"Available MBytes", 400},      // and what is free or reclaimable
      {"Anonymous MBytes", 100},      //
      {"Modified MBytes", 200},       // Dirty and Writeback
      {"Slab MBytes", 100},           //
      {"Numa Hits/sec", 7},           //
      {"Numa Misses/sec", 8},         //
      {"Numa Foreign/sec", 9},        //
      {"Local Allocations/sec", 10},  //
      {"Remote Allocations/sec", 11},
  };
  EXPECT_EQ(reading.rows.at("0"), expected);
}

TEST_F(NumaNodeMemoryTest, AddsUpNodes) {
  WriteNode(0, 100, 10);
  WriteNode(1, 200, 20);
  WriteNode(10, 300, 30);
  EXPECT_THAT(Sample(kNodes).names, ElementsAre("0", "1", "10", "_Total"));
  WriteNode(0, 101, 15);
  WriteNode(10, 301, 31);
  clock_.Advance(absl::Seconds(1));
  const Reading reading = Sample(kNodes);
  EXPECT_EQ(reading.Get("_Total", "Total MBytes"), 101 + 200 + 301);
  EXPECT_EQ(reading.Get("_Total", "Numa Hits/sec"), 5 + 0 + 1);
}

TEST_F(NumaNodeMemoryTest, LeavesOutWhatAKernelLacks) {
  EXPECT_THAT(Sample(kNodes).names, IsEmpty());
  Write("sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal: 2047 kB\nNode 0\n\nMemFree: 5 kB\n");
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(Sample(kNodes).rows.at("0"), (Values{{"Total MBytes", 1}}));
}

TEST(NumaNodeMemoryLiveTest, AgreesWithThisMachine) {
  std::ifstream file("/sys/devices/system/node/node0/meminfo");
  std::string word;
  uint64_t kib = 0;
  if (!(file >> word >> word >> word >> kib)) GTEST_SKIP() << "no nodes";
  ASSERT_EQ(word, "MemTotal:");
  NumaNodeMemory provider("");
  CountersetSample sample;
  sample.Reset(provider.registration().counters.size());
  ASSERT_OK(provider.Sample(~ColumnSet{0}, {.perf_time_stamp = 1}, &sample));
  EXPECT_EQ(perflib::Utf8FromUtf16(sample.Utf16Name(0)), "0");
  EXPECT_EQ(sample.Value(0, 0), kib / 1024);
}

}  // namespace
}  // namespace fleetperf::agent
