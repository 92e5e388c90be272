#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "driver/pmc/experiments/thread_counters.h"

namespace fleetperf::pmc {
namespace {

using hardware::HardwareCount;
using hardware::HardwareReading;

class WholeCpuCounters : public ThreadCounters {
 public:
  WholeCpuCounters(std::unique_ptr<hardware::HardwareReader> reader, int cpu)
      : reader_(std::move(reader)), cpu_(cpu) {
    reader_->Prefer({HardwareCount::kL1Loads, HardwareCount::kL1Misses});
  }

  absl::StatusOr<ThreadCounts> Read() override {
    RETURN_IF_ERROR(reader_->Update());
    const HardwareReading reading = reader_->ReadingOf(cpu_);
    const auto& instructions = reading[HardwareCount::kInstructions];
    const auto& cycles = reading[HardwareCount::kCycles];
    if (!instructions || !cycles) {
      return absl::UnavailableError(absl::StrCat(
          "CPU ", cpu_, " does not count instructions and cycles"));
    }
    ThreadCounts counts{.instructions = *instructions, .cycles = *cycles};
    counts.reference_cycles = reading[HardwareCount::kReferenceCycles];
    counts.l1_loads = reading[HardwareCount::kL1Loads];
    counts.l1_misses = reading[HardwareCount::kL1Misses];
    return counts;
  }

  absl::StatusOr<UserCounter> InstructionCounter() override {
    RETURN_IF_ERROR(reader_->Update());  // the first one programs the PMU
    if (const auto counter =
            reader_->user_counter(HardwareCount::kInstructions, cpu_)) {
      return *counter;
    }
    return absl::UnavailableError(
        "not permitted in user mode; --allow-rdpmc permits it to all programs "
        "of this machine while the experiments run");
  }

  std::string origin() const override {
    return absl::StrCat(reader_->origin(), ", all that CPU ", cpu_,
                        " executes");
  }

  hardware::HardwareReader* reader() override { return reader_.get(); }

 private:
  const std::unique_ptr<hardware::HardwareReader> reader_;
  const int cpu_;
};

}  // namespace

std::unique_ptr<ThreadCounters> CountWholeCpu(
    std::unique_ptr<hardware::HardwareReader> reader, int cpu) {
  return std::make_unique<WholeCpuCounters>(std::move(reader), cpu);
}

}  // namespace fleetperf::pmc
