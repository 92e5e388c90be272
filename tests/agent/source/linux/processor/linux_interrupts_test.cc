#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;

constexpr char kLinuxInterrupts[] = "Linux Interrupts";
constexpr char kInterruptsPerSecond[] = "Interrupts/sec";

class LinuxInterruptsTest : public testing::LinuxFixture {
 protected:
  std::optional<uint64_t> Count(const std::string& source) {
    return Sample(kLinuxInterrupts).Get(source, kInterruptsPerSecond);
  }
};

TEST_F(LinuxInterruptsTest, ReadsEverySource) {
  Write("proc/interrupts", R"(           CPU0       CPU1
   0:         22          0  IR-IO-APIC    2-edge      timer
  16:          3         40  IO-APIC   16-fasteoi   ehci_hcd:usb1, i801_smbus
  27:          1          2     GICv3  27 Level     arch_timer
  36:          5    5030855 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
  40:          0          0  IO-APIC   5-edge      never
  41:          7          0  IO-APIC   6-edge
 LOC:       1000       2000   Local timer interrupts
 TLB:          0          0   TLB shootdowns
 ERR:          7
)");
  Write("proc/softirqs", R"(                    CPU0       CPU1
      NET_RX:          4         50
     HRTIMER:          0          0
)");
  const Reading reading = Sample(kLinuxInterrupts);
  const std::map<std::string, uint64_t> kExpected = {
      {"timer:0", 22},        {"ehci_hcd:usb1, i801_smbus:16", 43},
      {"arch_timer:27", 3},   {"virtio1-req.0:36", 5030860},
      {"6-edge:41", 7},       {"LOC", 3000},
      {"softirq NET_RX", 54},
  };
  std::map<std::string, uint64_t> counts;
  std::set<uint32_t> ids;
  for (const auto& [name, values] : reading.rows) {
    counts[name] = values.at(kInterruptsPerSecond);
    ids.insert(reading.ids.at(name));
  }
  EXPECT_EQ(counts, kExpected);
  EXPECT_EQ(ids.size(), kExpected.size()) << "ids are not unique";
  EXPECT_EQ(reading.ids.at("virtio1-req.0:36"), 36);
}

// The kernel prints numbers with 32 bits.
TEST_F(LinuxInterruptsTest, ContinuesWhenNumbersWrap) {
  Write("proc/interrupts", "  CPU0 CPU1\nLOC: 4294967290 7\n");
  EXPECT_EQ(Count("LOC"), 4294967297);
  Write("proc/interrupts", "  CPU0 CPU1\nLOC: 4 8\n");
  EXPECT_EQ(Count("LOC"), 4294967297 + 10 + 1);
}

// The file has the online CPUs. Their earlier counts are not growth.
TEST_F(LinuxInterruptsTest, ContinuesWhileCpusComeAndGo) {
  Write("proc/interrupts", "  CPU0 CPU1\nLOC: 100 5000\n");
  EXPECT_EQ(Count("LOC"), 5100);
  Write("proc/interrupts", "  CPU0\nLOC: 110\n");
  EXPECT_EQ(Count("LOC"), 5100);
  Write("proc/interrupts", "  CPU0\nLOC: 112\n");
  EXPECT_EQ(Count("LOC"), 5102);
  Write("proc/interrupts", "  CPU0 CPU1\nLOC: 113 5001\n");
  EXPECT_EQ(Count("LOC"), 5102);
  Write("proc/interrupts", "  CPU0 CPU1\nLOC: 114 5004\n");
  EXPECT_EQ(Count("LOC"), 5102 + 1 + 3);
}

TEST_F(LinuxInterruptsTest, FollowsSourcesThatComeAndGo) {
  Write("proc/interrupts", "  CPU0\n 9: 50 IO-APIC 9-edge  old\n 8: 1 a  b\n");
  EXPECT_THAT(Sample(kLinuxInterrupts).names, ElementsAre("old:9", "b:8"));
  Write("proc/interrupts", "  CPU0\n 9: 3 IO-APIC 9-edge  new\n");
  const Reading reading = Sample(kLinuxInterrupts);
  EXPECT_THAT(reading.names, ElementsAre("new:9"));
  EXPECT_EQ(reading.Get("new:9", kInterruptsPerSecond), 3);
}

TEST_F(LinuxInterruptsTest, SkipsMalformedRows) {
  Write("proc/interrupts",
        "  CPU0 CPU1\n 1: 5\n : 1 2 x  y\n\nLOC: 1 2\nLOC: 3 4\n 7: a b\n");
  Write("proc/softirqs", "no header\nNET_RX: 1\n");
  EXPECT_THAT(Sample(kLinuxInterrupts).names, ElementsAre("LOC"));
}

TEST_F(LinuxInterruptsTest, HasNoInstancesWithoutTheFiles) {
  const Reading reading = Sample(kLinuxInterrupts);
  EXPECT_THAT(reading.names, ElementsAre());
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
}

}  // namespace
}  // namespace fleetperf::agent
