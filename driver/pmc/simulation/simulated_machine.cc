#include "driver/pmc/simulation/simulated_machine.h"

#include <algorithm>
#include <cmath>

#include "base/os/clock.h"
#include "driver/hardware/linux/perf_event_reader.h"
#include "driver/pmc/experiments/perf_event_counters.h"

namespace fleetperf::pmc {
namespace {

using perf_event::Event;
using perf_event::Hardware;
using perf_event::HardwareEvent;
using perf_event::Raw;
using perf_event::SimulatedSystem;

constexpr double kCoreHertz = 3.6e9;
constexpr double kReferencePerCycle =
    static_cast<double>(SimulatedProcessor::kTimestampHertz) / kCoreHertz;
constexpr double kHitNanoseconds = 0.4;
constexpr double kMissNanoseconds = 8;
constexpr size_t kLine = 64;
constexpr size_t kMaxDescriptors = 1000;

// A Xeon E5-1620 v3.
constexpr char kCpuinfo[] =
    "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 63\n"
    "stepping\t: 2\n";
// MEM_UOPS_RETIRED.ALL_LOADS and MEM_LOAD_UOPS_RETIRED.L1_MISS.
Event L1Loads() { return Raw(0x81D0); }
Event L1Misses() { return Raw(0x08D1); }

// The simulated system's time.
class ProcessorClock : public Clock {
 public:
  explicit ProcessorClock(Processor& processor) : processor_(processor) {}
  absl::Time Now() const override {
    return absl::UnixEpoch() + processor_.Now();
  }
  absl::Duration Monotonic() const override { return processor_.Now(); }

 private:
  Processor& processor_;
};

struct Simulation {
  SimulatedSystem system{
      {.cpus = 2,
       .hardware_counters = 16,
       .timestamp_hertz = SimulatedProcessor::kTimestampHertz}};
  SimulatedProcessor processor{system};
  ProcessorClock clock{processor};
};

}  // namespace

SimulatedProcessor::SimulatedProcessor(SimulatedSystem& system)
    : system_(system) {
  for (const HardwareEvent event :
       {HardwareEvent::kInstructions, HardwareEvent::kCpuCycles,
        HardwareEvent::kReferenceCpuCycles}) {
    system_.SetRate(Hardware(event), 0);
  }
  system_.SetFile("/proc/cpuinfo", kCpuinfo);
  system_.SetRate(L1Loads(), 0);
  system_.SetRate(L1Misses(), 0);
}

void SimulatedProcessor::Count(const Event& event, double count) {
  system_.Count(event, 0, static_cast<uint64_t>(std::llround(count)));
}

void SimulatedProcessor::Advance(absl::Duration duration) {
  elapsed_ += duration;
  system_.Advance(duration);
}

void SimulatedProcessor::Run(const Loop& loop, uint64_t turns) {
  const double cycles = loop.cycles * static_cast<double>(turns);
  Count(Hardware(HardwareEvent::kInstructions),
        loop.instructions * static_cast<double>(turns));
  Count(Hardware(HardwareEvent::kCpuCycles), cycles);
  Count(Hardware(HardwareEvent::kReferenceCpuCycles),
        cycles * kReferencePerCycle);
  Advance(absl::Seconds(cycles / kCoreHertz));
}

// The counter wraps between the reads.
uint64_t SimulatedProcessor::RunBetweenReads(const ExactCode& code, uint32_t) {
  constexpr int kWidth = 48;
  return static_cast<uint64_t>(code.instructions) - (uint64_t{1} << kWidth);
}

void SimulatedProcessor::ReadInStrides(absl::Span<const uint8_t> memory,
                                       size_t stride) {
  const double reads = static_cast<double>(memory.size());
  const double misses =
      reads / kLine * static_cast<double>(std::min(stride, kLine));
  Count(L1Loads(), reads);
  Count(L1Misses(), misses);
  Advance(absl::Nanoseconds(kHitNanoseconds * (reads - misses) +
                            kMissNanoseconds * misses));
}

void SimulatedProcessor::Sleep(absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  Count(Hardware(HardwareEvent::kInstructions), 84e6 * seconds);
  Count(Hardware(HardwareEvent::kCpuCycles), 157e6 * seconds);
  Count(Hardware(HardwareEvent::kReferenceCpuCycles), 184e6 * seconds);
  Advance(duration);
}

uint64_t SimulatedProcessor::ReadTimestamp() {
  return system_.ReadTimestampCounter();
}

Machine SimulatedMachine() {
  static Simulation* const simulation = new Simulation;
  return {
      .open_reader =
          [](const hardware::ReaderOptions&) {
            return absl::StatusOr<std::unique_ptr<hardware::HardwareReader>>(
                hardware::MakePerfEventReader(
                    simulation->system, kMaxDescriptors, simulation->clock));
          },
      .open_thread_counters =
          [](int, RdpmcAccess) { return CountThread(simulation->system); },
      .timestamp_hertz = [] { return SimulatedProcessor::kTimestampHertz; },
      .facts =
          [] {
            return std::vector<Fact>{{"machine", "simulated"}};
          },
      .processor = &simulation->processor};
}

}  // namespace fleetperf::pmc
