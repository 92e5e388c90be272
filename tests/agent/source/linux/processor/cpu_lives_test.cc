// The times of a CPU that another one replaces, as after a change of a
// container's cpuset: the life of the instance ends, and nothing is calculated
// across the change.

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/collect/collector.h"
#include "agent/collect/resolve.h"
#include "agent/deliver/dictionary.h"
#include "tests/agent/collect/samples_text.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// The instances whose lives began in a tick.
using Names = std::set<std::string>;

class CpuLivesTest : public testing::LinuxFixture {
 protected:
  void Open(const std::string& counterset) {
    Registration(counterset);  // loads all
    std::vector<std::string> warnings;
    collector_ = Collector::Open(
                     &source(), /*handle_number=*/1,
                     ResolvePlan({.queries = {{.counterset = counterset,
                                               .counters = {"% Processor Time",
                                                            "% User Time"}}}},
                                 "web-1", registrations())
                         .queries,
                     &instances_, &warnings)
                     .value();
    EXPECT_THAT(warnings, IsEmpty());
  }

  // Takes a tick a second after the last one.
  Names Tick(absl::string_view stat) {
    clock_.Advance(absl::Seconds(1));
    Write("proc/stat", stat);
    BlockSamples samples;
    std::vector<std::string> problems;
    EXPECT_OK(collector_->Collect(&samples, &problems));
    EXPECT_THAT(problems, IsEmpty());
    const v1::Definitions definitions = testing::AllDefinitions(dictionary_);
    Names begun;
    for (const uint32_t life : samples.queries[0].instances) {
      if (!lives_.insert(life).second) continue;
      const std::string name = testing::InstanceText(definitions, life);
      begun.insert(name.substr(0, name.find(':')));
    }
    return begun;
  }

  // A CPU that is busy for half of the time.
  static std::string Cpu(int number, uint64_t second, uint64_t user,
                         uint64_t idle) {
    return absl::StrCat("cpu", number, " ", user + 50 * second, " 0 0 ",
                        idle + 50 * second, " 0 0 0 0 0 0\n");
  }
  static std::string First(uint64_t second) {
    return Cpu(0, second, 1'000, 40'000);
  }
  static std::string Second(uint64_t second) {
    return Cpu(0, second, 900'020, 5'000'000);
  }

  Dictionary dictionary_;
  MachineInstances instances_{"web-1", &dictionary_};
  std::unique_ptr<Collector> collector_;
  std::set<uint32_t> lives_;
};

TEST_F(CpuLivesTest, AJumpUpwardsEndsTheLife) {
  Open("Processor Information");
  Tick(First(0));
  EXPECT_THAT(Tick(First(1)), IsEmpty());
  EXPECT_THAT(Tick(Second(2)),
              UnorderedElementsAre("0,0", "0,_Total", "_Total"));
  EXPECT_THAT(Tick(Second(3)), IsEmpty());
}

TEST_F(CpuLivesTest, AJumpDownwardsEndsTheLife) {
  Open("Processor Information");
  Tick(Second(0));
  EXPECT_THAT(Tick(Second(1)), IsEmpty());
  EXPECT_THAT(Tick(First(2)),
              UnorderedElementsAre("0,0", "0,_Total", "_Total"));
  EXPECT_THAT(Tick(First(3)), IsEmpty());
}

TEST_F(CpuLivesTest, ProcessorFollowsTheSameRule) {
  Open("Processor");
  Tick(First(0));
  EXPECT_THAT(Tick(Second(1)), UnorderedElementsAre("0", "_Total"));
  EXPECT_THAT(Tick(Second(2)), IsEmpty());
  EXPECT_THAT(Tick(First(3)), UnorderedElementsAre("0", "_Total"));
}

// Only the CPU that changed, and the totals that it is in.
TEST_F(CpuLivesTest, OtherCpusGoOn) {
  Write("sys/devices/system/node/online", "0-1\n");
  Write("sys/devices/system/node/node0/cpulist", "0-1\n");
  Write("sys/devices/system/node/node1/cpulist", "2\n");
  Open("Processor Information");
  const auto others = [](uint64_t second) {
    return Cpu(1, second, 5, 6) + Cpu(2, second, 7, 8);
  };
  Tick(First(0) + others(0));
  EXPECT_THAT(Tick(Second(1) + others(1)),
              UnorderedElementsAre("0,0", "0,_Total", "_Total"));
  EXPECT_THAT(Tick(Second(2) + others(2)), IsEmpty());
}

// A total that lost the CPU with the newest life goes on.
TEST_F(CpuLivesTest, TotalsGoOnWhenACpuGoesOffline) {
  Open("Processor Information");
  const auto other = [](uint64_t second) { return Cpu(1, second, 5, 6); };
  Tick(First(0) + other(0));
  Tick(Second(1) + other(1));
  EXPECT_THAT(Tick(other(2)), IsEmpty());
  EXPECT_THAT(Tick(Second(3) + other(3)), UnorderedElementsAre("0,0"));
}

// Each time has the bound of its own: a second and a tick of 10 ms.
TEST_F(CpuLivesTest, EachTimeIsBounded) {
  Open("Processor Information");
  const auto stat = [](int field, uint64_t value) {
    std::string text = "cpu0";
    for (int i = 0; i < 10; ++i) {
      absl::StrAppend(&text, " ", i == field ? 5'000 + value : 5'000);
    }
    return text + "\n";
  };
  for (int field = 0; field < 10; ++field) {
    Tick(stat(field, 0));
    EXPECT_THAT(Tick(stat(field, 101)), IsEmpty()) << field;
    // This test may be slow, but it does not take ten seconds for a tick.
    EXPECT_EQ(Tick(stat(field, 101 + 1'000)).size(), 3) << field;
    EXPECT_EQ(Tick(stat(field, 101)).size(), 3) << field;
    Tick(stat(-1, 0));
  }
}

// Idle and I/O wait are estimates that the kernel corrects; other times that
// fall by more than the rounding are those of another CPU.
TEST_F(CpuLivesTest, OnlyEstimatesMayFallALittle) {
  Open("Processor Information");
  const char kTimes[] = "cpu0 900 900 900 900 900 900 900 900 0 0\n";
  Tick(kTimes);
  EXPECT_THAT(Tick("cpu0 899 900 900 650 650 900 900 900 0 0\n"), IsEmpty());
  EXPECT_THAT(Tick(kTimes), IsEmpty());
  EXPECT_EQ(Tick("cpu0 850 900 900 900 900 900 900 900 0 0\n").size(), 3);
}

// An idle period of 300 ms counts as I/O wait until the task that waits is
// woken on another CPU; then all of it is idle time.
TEST_F(CpuLivesTest, AnIdlePeriodMayChangeItsKind) {
  Open("Processor Information");
  Tick("cpu0 900 0 900 1000 130 0 0 0 0 0\n");
  EXPECT_THAT(Tick("cpu0 900 0 900 1130 100 0 0 0 0 0\n"), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::agent
