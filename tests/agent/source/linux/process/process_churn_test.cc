// A fork storm: processes come and go, and the agent's memory and descriptors
// stay.

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include "tests/agent/source/linux/process/process_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::kJiffy;
using testing::kProcesses;

constexpr uint32_t kAlive = 100;  // at a time; all end between two ticks
constexpr uint32_t kGenerations = 3;
constexpr uint32_t kFirstPid = 100;

// Processes of which ticks see 3 jiffies, and which use 5. Each generation of
// them is a directory, to which proc is a link.
class ProcessChurnTest : public testing::ProcessFixture {
 protected:
  ProcessChurnTest() {
    max_open_files_ = 60;
    Remove("proc");
    for (uint32_t i = 0; i < kGenerations; ++i) WriteGeneration(i);
    NextGeneration();
  }
  ~ProcessChurnTest() override {
    for (const auto& slots : slots_) {
      for (const Slot& slot : slots) close(slot.file);
    }
  }

  // Half of the pids of a generation are reused in the next one.
  void WriteGeneration(uint32_t generation) {
    const std::string proc = absl::StrCat("generation-", generation, "/");
    Write(proc + "uptime", "500.25 1.00\n");
    Link(PathOf("init"), proc + "1");
    for (uint32_t slot = 0; slot < kAlive; ++slot) {
      const uint32_t pid = kFirstPid + generation * kAlive / 2 + slot;
      const std::string process = absl::StrCat(proc, pid, "/");
      Write(process + "stat", "");
      Write(absl::StrCat(process, "task/", pid, "/stat"), StatLine(pid, {}));
      Write(process + "cgroup", "0::/system.slice/storm.service\n");
      slots_[generation].push_back(
          {.pid = pid,
           .file = open(PathOf(process + "stat").c_str(), O_WRONLY)});
    }
  }

  // Ends all processes and starts others, which no earlier tick saw.
  void NextGeneration() {
    const uint64_t ended = lives_ * 5;
    Write("init/stat",
          StatLine(1, {.parent = 0, .children_user_jiffies = ended}));
    for (const Slot& slot : slots_[generation_]) {
      // All lines have the same length.
      const std::string line =
          StatLine(slot.pid, {.name = absl::StrCat("life-", 1'000'000 + lives_),
                              .user_jiffies = 3,
                              .start_jiffies = 1'000'000 + lives_,
                              .parent = 1});
      ++lives_;
      ASSERT_EQ(pwrite(slot.file, line.data(), line.size(), 0), line.size());
    }
    Link(PathOf(absl::StrCat("generation-", generation_)), "next");
    std::filesystem::rename(PathOf("next"), PathOf("proc"));
    generation_ = (generation_ + 1) % kGenerations;
  }

  struct Slot {
    uint32_t pid;
    int file;  // its stat
  };
  std::vector<Slot> slots_[kGenerations];
  uint32_t generation_ = 0;
  uint64_t lives_ = 0;  // so far
};

size_t AllocatedBytes() { return mallinfo2().uordblks; }

ptrdiff_t OpenDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       {});
}

TEST_F(ProcessChurnTest, HundredThousandLivesLeaveNothing) {
  constexpr int kWarmUp = 50;
  constexpr int kTicks = 1000;
  const std::vector<uint32_t> processor_time = {0};
  const auto processes = Open(kProcesses, processor_time);
  const auto names = Open("Process", processor_time);
  const auto cgroups = Open("Linux Cgroup Process", processor_time);
  const auto threads = Open("Thread", {1});
  std::string block;
  uint64_t total = 0;
  size_t bytes = 0;
  ptrdiff_t descriptors = 0;
  for (int tick = 1; tick <= kWarmUp + kTicks; ++tick) {
    clock_.Advance(absl::Seconds(1));
    for (auto* handle : {names.get(), cgroups.get(), threads.get()}) {
      if (tick % 5 != 0) continue;
      EXPECT_OK(handle->QueryCounterData(&block));
    }
    total = *Sample(processes.get(), kProcesses, processor_time)
                 .Get("_Total", "% Processor Time");
    if (tick == kWarmUp) {
      bytes = AllocatedBytes();
      descriptors = OpenDescriptors();
    }
    NextGeneration();
  }
  // Sizes of hash tables may still change. The bound is 11 bytes for each life.
  EXPECT_LE(AllocatedBytes(), bytes + 1024 * 1024);
  EXPECT_EQ(OpenDescriptors(), descriptors);
  // The first tick is the start of counting, with 3 jiffies of each process.
  // The last one saw 3 of each, too.
  EXPECT_EQ(total / kJiffy, uint64_t{kWarmUp + kTicks - 1} * kAlive * 5);
}

}  // namespace
}  // namespace fleetperf::agent
