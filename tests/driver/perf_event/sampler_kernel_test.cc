// Records of the kernel that runs the test. The test itself causes each of
// them.

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/perf_event/builder.h"
#include "driver/perf_event/sampler.h"
#include "tests/driver/perf_event/kernel.h"
#include "tests/driver/perf_event/waiting_child.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using ::fleetperf::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using SamplerKernelTest = KernelTest;

ThreadId Self() {
  return {static_cast<uint32_t>(getpid()),
          static_cast<uint32_t>(syscall(SYS_gettid))};
}

Builder EnabledDummy() {
  return Builder(Software(SoftwareEvent::kDummy)).Enabled().SampleIdAll();
}

// Each call makes the kernel write a kComm record.
void RenameThread(const std::string& name) { prctl(PR_SET_NAME, name.c_str()); }

// Memory whose pages were never touched.
class NewPages {
 public:
  explicit NewPages(size_t pages)
      : size_(pages * LinuxSystem().page_size()),
        memory_(static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    madvise(memory_, size_, MADV_NOHUGEPAGE);
  }
  ~NewPages() { munmap(memory_, size_); }

  // Returns the addresses of the page faults that this causes.
  std::vector<uint64_t> Touch() {
    std::vector<uint64_t> addresses;
    for (size_t i = 0; i < size_; i += LinuxSystem().page_size()) {
      addresses.push_back(reinterpret_cast<uint64_t>(memory_ + i));
    }
    for (const uint64_t address : addresses) {
      *reinterpret_cast<volatile char*>(address) = 1;
    }
    return addresses;
  }
  char* memory() const { return memory_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  char* memory_;
};

Builder SampledFaults() {
  return Builder(Software(SoftwareEvent::kPageFaults))
      .SamplePeriod(1)
      .SampleIdAll();
}

// The names of the kComm records that are left.
std::vector<std::string> Names(Sampler* sampler) {
  std::vector<std::string> names;
  Record record;
  while (const auto raw = sampler->Next()) {
    EXPECT_OK(sampler->Parse(*raw, &record));
    if (const auto* comm = std::get_if<CommRecord>(&record.data)) {
      names.emplace_back(comm->name);
    }
  }
  EXPECT_OK(sampler->status());
  return names;
}

TEST_F(SamplerKernelTest, SamplesEveryPageFault) {
  ASSERT_OK_AND_ASSIGN(
      Sampler sampler,
      Sampler::Create(
          *SampledFaults()
               .Sample(sample::kIdentifier | sample::kIp | sample::kTid |
                       sample::kTime | sample::kAddress | sample::kId |
                       sample::kStreamId | sample::kCpu | sample::kPeriod |
                       sample::kCallchain | sample::kWeight |
                       sample::kDataSource | sample::kTransaction |
                       sample::kPhysicalAddress | sample::kCgroup |
                       sample::kDataPageSize | sample::kCodePageSize)
               .Build(),
          16));
  NewPages pages(32);
  std::vector<uint64_t> expected;
  expected.reserve(32);
  ASSERT_OK(sampler.counter().Enable());
  expected = pages.Touch();
  ASSERT_OK(sampler.counter().Disable());

  std::vector<uint64_t> addresses;
  uint64_t time = 0;
  Record record;
  while (const auto raw = sampler.Next()) {
    ASSERT_OK(sampler.Parse(*raw, &record));
    const auto* sample = std::get_if<Sample>(&record.data);
    if (sample == nullptr) continue;
    if (*sample->address() >= expected.front() &&
        *sample->address() <= expected.back()) {
      addresses.push_back(*sample->address());
    }
    EXPECT_EQ(sample->thread(), Self());
    EXPECT_EQ(sample->id(), sampler.counter().id());
    EXPECT_EQ(sample->period(), 1u);
    EXPECT_GE(*sample->time(), time);
    time = *sample->time();
    EXPECT_EQ(raw->misc() & misc::kCpuModeMask, misc::kUser);
    const Words chain = sample->callchain();
    ASSERT_GE(chain.size(), 2u);
    EXPECT_EQ(chain[0], callchain::kUser);
    EXPECT_EQ(chain[1], sample->ip());
  }
  ASSERT_OK(sampler.status());
  EXPECT_THAT(addresses, ElementsAreArray(expected));
}

TEST_F(SamplerKernelTest, SamplesTheCpuClock) {
  ASSERT_OK_AND_ASSIGN(
      Sampler sampler,
      Sampler::Create(*Builder(Software(SoftwareEvent::kCpuClock))
                           .SamplePeriod(100000)
                           .Sample(sample::kIp | sample::kPeriod)
                           .WakeupEvents(1)
                           .Enabled()
                           .Build(),
                      8));
  // The clock runs as long as the thread does.
  std::optional<RawRecord> raw;
  while (!raw) raw = sampler.Next();
  Sample sample;
  ASSERT_OK(sampler.parser().ParseSample(*raw, &sample));
  EXPECT_GE(*sample.period(), 100000u);
}

TEST_F(SamplerKernelTest, SamplesContainTheGroup) {
  Builder faults = SampledFaults()
                       .ReadFormat(read_format::kGroup | read_format::kLost)
                       .Sample(sample::kRead | sample::kCgroup);
  ASSERT_OK_AND_ASSIGN(Sampler sampler, Sampler::Create(*faults.Build(), 16));
  ASSERT_OK_AND_ASSIGN(const Counter member,
                       Builder(Software(SoftwareEvent::kDummy))
                           .Enabled()
                           .ReadFormat(read_format::kGroup)
                           .BuildWithGroup(sampler.counter()));
  NewPages pages(8);
  ASSERT_OK(sampler.counter().Enable());
  pages.Touch();
  ASSERT_OK(sampler.counter().Disable());
  uint64_t count = 0;
  Sample sample;
  while (const auto raw = sampler.Next()) {
    ASSERT_OK(sampler.parser().ParseSample(*raw, &sample));
    const auto read = sample.read();
    ASSERT_EQ(read->size(), 2u);
    EXPECT_EQ((*read)[0], (GroupEntry{++count, sampler.counter().id(), 0}));
    EXPECT_EQ((*read)[1], (GroupEntry{0, member.id(), 0}));
    EXPECT_GT(*read->time_enabled(), 0u);
    EXPECT_GT(*sample.cgroup(), 0u);
  }
  EXPECT_GE(count, 8u);
}

#ifdef __x86_64__
TEST_F(SamplerKernelTest, SamplesRegistersAndStack) {
  constexpr int kStackPointer = 7;  // PERF_REG_X86_SP
  ASSERT_OK_AND_ASSIGN(
      Sampler sampler,
      Sampler::Create(*SampledFaults()
                           .Sample(sample::kRegsUser | sample::kStackUser |
                                   sample::kRegsIntr | sample::kCgroup)
                           .SampleRegsUser(1 << kStackPointer | 1)
                           .SampleRegsIntr(1 << kStackPointer)
                           .SampleStackUser(256)
                           .Build(),
                      16));
  NewPages pages(1);
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  ASSERT_OK(sampler.counter().Enable());
  pages.Touch();
  ASSERT_OK(sampler.counter().Disable());
  const auto raw = sampler.Next();
  ASSERT_TRUE(raw);
  Sample sample;
  ASSERT_OK(sampler.parser().ParseSample(*raw, &sample));
  EXPECT_EQ(sample.user_registers().abi(), RegistersAbi::k64);
  const auto stack_pointer = sample.user_registers().Get(kStackPointer);
  ASSERT_TRUE(stack_pointer);
  EXPECT_LT(*stack_pointer, here);
  EXPECT_GT(*stack_pointer, here - (1 << 20));
  EXPECT_EQ(sample.interrupt_registers().values().size(), 1u);
  EXPECT_EQ(sample.user_stack().size(), 256u);
  EXPECT_GT(*sample.cgroup(), 0u);
}
#endif

// Making memory executable is one mapping.
TEST_F(SamplerKernelTest, RecordsExecutableMemory) {
  ASSERT_OK_AND_ASSIGN(Sampler sampler,
                       Sampler::Create(*EnabledDummy().Mmap().Build(), 8));
  NewPages pages(2);
  ASSERT_EQ(mprotect(pages.memory(), pages.size(), PROT_READ | PROT_EXEC), 0);
  Record record;
  const auto raw = sampler.Next();
  ASSERT_TRUE(raw);
  ASSERT_OK(sampler.Parse(*raw, &record));
  const auto& mapping = std::get<MmapRecord>(record.data);
  EXPECT_EQ(mapping.thread, Self());
  EXPECT_EQ(mapping.address, reinterpret_cast<uint64_t>(pages.memory()));
  EXPECT_EQ(mapping.length, pages.size());
  EXPECT_FALSE(mapping.is_data);
  EXPECT_EQ(mapping.file, "//anon");
  EXPECT_FALSE(sampler.Next());
}

TEST_F(SamplerKernelTest, RecordsProtectionWithMmap2) {
  ASSERT_OK_AND_ASSIGN(
      Sampler sampler,
      Sampler::Create(*EnabledDummy()
                           .Mmap()
                           .Mmap2()
                           .Sample(sample::kTid | sample::kTime)
                           .Build(),
                      8));
  NewPages pages(2);
  ASSERT_EQ(mprotect(pages.memory(), pages.size(), PROT_READ | PROT_EXEC), 0);
  Record record;
  const auto raw = sampler.Next();
  ASSERT_TRUE(raw);
  ASSERT_OK(sampler.Parse(*raw, &record));
  const auto& mapping = std::get<Mmap2Record>(record.data);
  EXPECT_EQ(mapping.address, reinterpret_cast<uint64_t>(pages.memory()));
  EXPECT_EQ(mapping.protection, static_cast<uint32_t>(PROT_READ | PROT_EXEC));
  EXPECT_EQ(mapping.flags & MAP_TYPE, static_cast<uint32_t>(MAP_PRIVATE));
  EXPECT_EQ(mapping.file, "//anon");
  EXPECT_EQ(record.id.thread(), Self());
  EXPECT_GT(*record.id.time(), 0u);
}

TEST_F(SamplerKernelTest, RecordsForks) {
  ASSERT_OK_AND_ASSIGN(Sampler sampler,
                       Sampler::Create(*EnabledDummy().Task().Build(), 8));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  Record record;
  const auto raw = sampler.Next();
  ASSERT_TRUE(raw);
  ASSERT_OK(sampler.Parse(*raw, &record));
  const auto& forked = std::get<ForkRecord>(record.data);
  EXPECT_EQ(forked.thread, (ThreadId{static_cast<uint32_t>(child),
                                     static_cast<uint32_t>(child)}));
  EXPECT_EQ(forked.parent, Self());
}

TEST_F(SamplerKernelTest, EndsWithTheObservedProcess) {
  WaitingChild child;
  ASSERT_OK_AND_ASSIGN(
      Sampler sampler,
      Sampler::Create(
          *EnabledDummy().Task().ObserveProcess(child.pid()).Build(), 8));
  ASSERT_OK_AND_ASSIGN(auto raw, sampler.NextBlocking(absl::ZeroDuration()));
  EXPECT_FALSE(raw);
  EXPECT_FALSE(sampler.ended());

  child.End();
  ASSERT_OK_AND_ASSIGN(raw, sampler.NextBlocking(absl::InfiniteDuration()));
  ASSERT_TRUE(raw);
  Record record;
  ASSERT_OK(sampler.Parse(*raw, &record));
  EXPECT_EQ(std::get<ExitRecord>(record.data).thread.pid,
            static_cast<uint32_t>(child.pid()));
  ASSERT_OK_AND_ASSIGN(raw, sampler.NextBlocking(absl::InfiniteDuration()));
  EXPECT_FALSE(raw);
  EXPECT_TRUE(sampler.ended());
}

TEST_F(SamplerKernelTest, RecordsSwitches) {
  ASSERT_OK_AND_ASSIGN(Sampler sampler,
                       Sampler::Create(*EnabledDummy()
                                            .ContextSwitch()
                                            .Sample(sample::kTid | sample::kCpu)
                                            .Build(),
                                       8));
  Record record;
  bool is_out = false;
  bool has_waited = false;  // seen to give the CPU up by itself
  while (!has_waited) {
    const timespec moment = {.tv_sec = 0, .tv_nsec = 1};
    nanosleep(&moment, nullptr);
    while (const auto raw = sampler.Next()) {
      ASSERT_OK(sampler.Parse(*raw, &record));
      const auto& change = std::get<SwitchRecord>(record.data);
      EXPECT_EQ(change.out, !is_out);
      EXPECT_EQ(record.id.thread(), Self());
      is_out = change.out;
      has_waited |= change.out && !change.preempted;
    }
    ASSERT_OK(sampler.status());
  }
  // The thread runs, so that the last change was one to in.
  EXPECT_FALSE(is_out);
}

TEST_F(SamplerKernelTest, RecordsNamespaces) {
  std::optional<uint64_t> inode;
  bool is_permitted = false;
  std::thread([&] {
    ASSERT_OK_AND_ASSIGN(
        Sampler sampler,
        Sampler::Create(*EnabledDummy().Namespaces().Build(), 8));
    is_permitted = unshare(CLONE_NEWUTS) == 0;
    if (!is_permitted) return;
    Record record;
    const auto raw = sampler.Next();
    ASSERT_TRUE(raw);
    ASSERT_OK(sampler.Parse(*raw, &record));
    const auto& namespaces = std::get<NamespacesRecord>(record.data);
    EXPECT_EQ(namespaces.thread, Self());
    ASSERT_GT(namespaces.size(), size_t{NamespacesRecord::kUts});
    inode = namespaces.inode(NamespacesRecord::kUts);
    const std::string link =
        absl::StrCat("/proc/self/task/", Self().tid, "/ns/uts");
    char name[64] = {};
    ASSERT_GT(readlink(link.c_str(), name, sizeof(name) - 1), 0);
    EXPECT_EQ(name, absl::StrCat("uts:[", *inode, "]"));
  }).join();
  if (!is_permitted) GTEST_SKIP() << "A new UTS namespace is not permitted";
  EXPECT_TRUE(inode);
}

// The ring of 4096 bytes wraps often, at all offsets that records can have.
TEST_F(SamplerKernelTest, ReadsAcrossTheEndOfTheRing) {
  ASSERT_OK_AND_ASSIGN(Sampler sampler,
                       Sampler::Create(*EnabledDummy().Comm().Build(), 1));
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> expected;
    for (int i = 0; i < 37; ++i) {
      // Names of 1 to 15 bytes have records of two sizes.
      expected.push_back(std::string((round + i) % 15 + 1, 'a'));
      RenameThread(expected.back());
    }
    ASSERT_THAT(Names(&sampler), ElementsAreArray(expected)) << round;
  }
}

TEST_F(SamplerKernelTest, CountsLostRecords) {
  SKIP_UNLESS_OPENS(EnabledDummy().ReadFormat(read_format::kLost));
  ASSERT_OK_AND_ASSIGN(
      Sampler sampler,
      Sampler::Create(
          *EnabledDummy().Comm().ReadFormat(read_format::kLost).Build(), 1));
  for (int i = 0; i < 1000; ++i) RenameThread("lost");
  size_t received = Names(&sampler).size();
  EXPECT_LT(received, 1000u);
  // The next record is preceded by one that says how many are lost.
  RenameThread("found");
  Record record;
  const auto raw = sampler.Next();
  ASSERT_TRUE(raw);
  ASSERT_OK(sampler.Parse(*raw, &record));
  const auto& lost = std::get<LostRecord>(record.data);
  EXPECT_EQ(lost.id, sampler.counter().id());
  EXPECT_EQ(lost.lost, 1000 - received);
  EXPECT_THAT(Names(&sampler), ElementsAre("found"));
  ASSERT_OK_AND_ASSIGN(const CounterValue value, sampler.counter().ReadFull());
  EXPECT_EQ(value.lost, 1000 - received);
}

TEST_F(SamplerKernelTest, AFlightRecorderKeepsTheNewestRecords) {
  ASSERT_OK_AND_ASSIGN(FlightRecorder recorder,
                       FlightRecorder::Create(
                           *EnabledDummy().Comm().WriteBackward().Build(), 1));
  const auto snapshot = [&] {
    std::vector<std::string> names;
    EXPECT_OK(recorder.Snapshot([&](const RawRecord& raw) {
      Record record;
      EXPECT_OK(recorder.parser().Parse(raw, &record));
      names.emplace_back(std::get<CommRecord>(record.data).name);
    }));
    return names;
  };
  for (int i = 0; i < 3; ++i) RenameThread(absl::StrCat("a", i));
  EXPECT_THAT(snapshot(), ElementsAre("a2", "a1", "a0"));
  EXPECT_THAT(snapshot(), ElementsAre());

  for (int i = 0; i < 1000; ++i) RenameThread(absl::StrCat("b", i));
  const std::vector<std::string> names = snapshot();
  // A record of 24 bytes each, so that 170 fit.
  ASSERT_EQ(names.size(), 170u);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(names[i], absl::StrCat("b", 999 - i));
  }
  RenameThread("c");
  EXPECT_THAT(snapshot(), ElementsAre("c"));
}

TEST_F(SamplerKernelTest, EventsShareARing) {
  ASSERT_OK_AND_ASSIGN(
      Sampler sampler,
      Sampler::Create(
          *EnabledDummy().Comm().Sample(sample::kIdentifier).Build(), 8));
  ASSERT_OK(sampler.Add(
      *SampledFaults().Sample(sample::kIdentifier | sample::kAddress).Build()));
  NewPages pages(4);
  std::vector<uint64_t> expected;
  RenameThread("before");
  ASSERT_OK(sampler.counter(1).Enable());
  expected = pages.Touch();
  ASSERT_OK(sampler.counter(1).Disable());
  RenameThread("after");

  std::vector<std::string> names;
  std::vector<uint64_t> addresses;
  Record record;
  while (const auto raw = sampler.Next()) {
    ASSERT_OK(sampler.Parse(*raw, &record));
    if (const auto* comm = std::get_if<CommRecord>(&record.data)) {
      EXPECT_EQ(sampler.CounterOf(*raw), &sampler.counter(0));
      EXPECT_EQ(names.empty(), addresses.empty());
      names.emplace_back(comm->name);
    } else if (const auto* sample = std::get_if<Sample>(&record.data)) {
      EXPECT_EQ(sampler.CounterOf(*raw), &sampler.counter(1));
      if (*sample->address() >= expected.front() &&
          *sample->address() <= expected.back()) {
        addresses.push_back(*sample->address());
      }
    }
  }
  ASSERT_OK(sampler.status());
  EXPECT_THAT(names, ElementsAre("before", "after"));
  EXPECT_THAT(addresses, ElementsAreArray(expected));
}

TEST_F(SamplerKernelTest, AnotherThreadCannotShareTheRing) {
  WaitingChild child;
  ASSERT_OK_AND_ASSIGN(Sampler sampler,
                       Sampler::Create(*EnabledDummy().Build(), 1));
  EXPECT_THAT(sampler.Add(*EnabledDummy().ObserveProcess(child.pid()).Build()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dummy")));
}

TEST_F(SamplerKernelTest, AnInheritedEventOfAThreadHasNoRing) {
  EXPECT_THAT(Sampler::Create(*EnabledDummy().Inherit().Build(), 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("one event per CPU")));
}

TEST_F(SamplerKernelTest, SoftwareEventsHaveNoAuxArea) {
  ASSERT_OK_AND_ASSIGN(Sampler sampler,
                       Sampler::Create(*EnabledDummy().Build(), 1));
  EXPECT_THAT(sampler.MapAux(1), StatusIs(absl::StatusCode::kUnimplemented,
                                          HasSubstr("no AUX area")));
}

}  // namespace
}  // namespace fleetperf::perf_event
