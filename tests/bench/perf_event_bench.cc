// Compares the cost of reading events with the bare system call, and of reading
// through an event's page with the same steps by hand.

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "driver/perf_event/builder.h"
#include "driver/perf_event/group.h"
#include "driver/perf_event/user_reader.h"
#include "tests/bench/measure.h"

namespace fleetperf::bench {
namespace {

using namespace perf_event;

constexpr int kReads = 1000;  // of a run

template <typename T>
T Required(absl::StatusOr<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}
void Require(const absl::Status& status) {
  if (!status.ok()) Required<int>(status);
}

void Compare(const char* name, int runs, std::vector<Candidate> candidates) {
  Measure(/*rounds=*/100, runs, &candidates);
  std::printf("%s\n", name);
  for (const Candidate& candidate : candidates) {
    std::printf("  %-34s %7.1f ns  %5.2f x\n", candidate.name.c_str(),
                candidate.nanos / kReads,
                candidate.nanos / candidates[0].nanos);
  }
}

void CompareCounter() {
  Counter counter =
      Required(Builder(Software(SoftwareEvent::kPageFaults)).Enabled().Build());
  const int descriptor = counter.descriptor();
  Compare("One software event", /*runs=*/10,
          {{"read(2)",
            [&] {
              for (int i = 0; i < kReads; ++i) {
                uint64_t words[3];
                if (read(descriptor, words, sizeof(words)) <= 0) std::abort();
                Keep(words[0]);
              }
            }},
           {"Counter::Read",
            [&] {
              for (int i = 0; i < kReads; ++i) Keep(*counter.Read());
            }},
           {"Counter::ReadFull",
            [&] {
              for (int i = 0; i < kReads; ++i) Keep(counter.ReadFull()->value);
            }},
           {"Counter::ReadScaled", [&] {
              for (int i = 0; i < kReads; ++i) Keep(**counter.ReadScaled());
            }}});
}

void CompareGroup() {
  const SoftwareEvent events[] = {
      SoftwareEvent::kPageFaults,      SoftwareEvent::kTaskClock,
      SoftwareEvent::kPageFaultsMinor, SoftwareEvent::kPageFaultsMajor,
      SoftwareEvent::kAlignmentFaults, SoftwareEvent::kEmulationFaults,
      SoftwareEvent::kDummy,           SoftwareEvent::kPageFaults};
  Group group = Required(Group::Create(Builder(Software(events[0]))));
  for (size_t i = 1; i < std::size(events); ++i) {
    Required(group.Add(Builder(Software(events[i]))));
  }
  Require(group.Enable());
  const int descriptor = group[0].descriptor();
  GroupValues values;
  Compare("A group of 8 software events", /*runs=*/10,
          {{"read(2)",
            [&] {
              for (int i = 0; i < kReads; ++i) {
                uint64_t words[3 + 2 * std::size(events)];
                if (read(descriptor, words, sizeof(words)) <= 0) std::abort();
                Keep(words[3]);
              }
            }},
           {"Group::Read", [&] {
              for (int i = 0; i < kReads; ++i) {
                Require(group.Read(&values));
                Keep(values.entries()[0].value);
              }
            }}});
}

// A machine whose events have a page in memory. RDTSC stands for RDPMC, which
// takes longer, or both instructions are constants, so that what is left is the
// reader.
class PageMachine final : public System {
 public:
  PageMachine() {
    page_.index = 1;
    page_.pmc_width = 48;
    page_.offset = 1 << 20;
    page_.capabilities = capability::kBit0IsDeprecated |
                         capability::kUserRdpmc | capability::kUserTime;
    page_.time_mult = 1 << 20;
    page_.time_shift = 21;
  }
  volatile MmapPage& page() { return page_; }

  int Open(Attributes*, int, int, int, unsigned long) override { return 3; }
  int Close(int) override { return 0; }
  int Ioctl(int, unsigned long, unsigned long) override { return 0; }
  int64_t Read(int, void*, size_t) override { return -1; }
  int Map(int, size_t, uint64_t, bool, void** address) override {
    *address = &page_;
    return 0;
  }
  void Unmap(void*, size_t) override {}
  int Poll(int, short, int, short*) override { return 0; }
  bool has_rdpmc() const override { return true; }
  uint64_t ReadPmc(uint32_t) override {
    return has_instructions ? LinuxSystem().ReadTimestampCounter() : 12345;
  }
  uint64_t ReadTimestampCounter() override {
    return has_instructions ? LinuxSystem().ReadTimestampCounter() : 1 << 30;
  }
  absl::StatusOr<std::string> ReadFile(const std::string& path) override {
    return absl::NotFoundError(path);
  }
  absl::StatusOr<std::vector<std::string>> ListDirectory(
      const std::string& path) override {
    return absl::NotFoundError(path);
  }
  size_t page_size() const override { return sizeof(page_); }

  bool has_instructions = false;

 private:
  MmapPage page_ = {};
};

// The loop of include/uapi/linux/perf_event.h, with `machine` for the
// instructions.
UserValue ReadByHand(const volatile MmapPage& page, System& machine) {
  UserValue value;
  uint32_t sequence;
  do {
    sequence = page.lock;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    value.time_enabled = page.time_enabled;
    value.time_running = page.time_running;
    const uint32_t index = page.index;
    if ((page.capabilities & capability::kUserTime) != 0) {
      uint64_t cycles = machine.ReadTimestampCounter();
      if ((page.capabilities & capability::kUserTimeShort) != 0) {
        cycles =
            page.time_cycles + ((cycles - page.time_cycles) & page.time_mask);
      }
      const uint64_t quotient = cycles >> page.time_shift;
      const uint64_t remainder =
          cycles & ((uint64_t{1} << page.time_shift) - 1);
      const uint64_t elapsed =
          page.time_offset + quotient * page.time_mult +
          ((remainder * page.time_mult) >> page.time_shift);
      value.time_enabled += elapsed;
      if (index != 0) value.time_running += elapsed;
    }
    value.count.reset();
    if ((page.capabilities & capability::kUserRdpmc) != 0 && index != 0) {
      const int unused = 64 - page.pmc_width;
      const auto counter =
          static_cast<int64_t>(machine.ReadPmc(index - 1) << unused) >> unused;
      value.count = static_cast<uint64_t>(page.offset + counter);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (page.lock != sequence);
  return value;
}

void ComparePage(const char* name, bool has_instructions) {
  PageMachine machine;
  machine.has_instructions = has_instructions;
  // Hides the type from the compiler, as a program's System is.
  System* volatile hidden = &machine;
  System& system = *hidden;
  const Counter counter =
      Required(Builder(Hardware(HardwareEvent::kInstructions), system).Build());
  const UserReader reader = Required(UserReader::Create(counter));
  const UserValue expected = ReadByHand(machine.page(), system);
  const UserValue value = Required(reader.Read());
  if (!has_instructions && (value.count != expected.count ||
                            value.time_running != expected.time_running)) {
    std::abort();
  }
  Compare(name, /*runs=*/200,
          {{"by hand",
            [&] {
              for (int i = 0; i < kReads; ++i) {
                const UserValue read = ReadByHand(machine.page(), system);
                Keep(read.time_running);
                Keep(*read.count);
              }
            }},
           {"UserReader::Read", [&] {
              for (int i = 0; i < kReads; ++i) {
                const auto read = reader.Read();
                Keep(read->time_running);
                Keep(*read->count);
              }
            }}});
}

}  // namespace
}  // namespace fleetperf::bench

int main() {
  fleetperf::bench::CompareCounter();
  fleetperf::bench::CompareGroup();
  fleetperf::bench::ComparePage("A page, with RDTSC for both instructions",
                                true);
  fleetperf::bench::ComparePage("A page, without instructions", false);
}
