// Counts of a piece of work, from counters of which one falls behind.

#include "driver/pmc/experiments/lab.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/status_matchers.h"

namespace fleetperf::pmc {
namespace {

class IdleProcessor : public Processor {
 public:
  void Run(const Loop&, uint64_t) override {}
  uint64_t RunBetweenReads(const ExactCode&, uint32_t) override { return 0; }
  void ReadInStrides(absl::Span<const uint8_t>, size_t) override {}
  void Sleep(absl::Duration) override {}
  uint64_t ReadTimestamp() override { return 0; }
  absl::Duration Now() override { return absl::ZeroDuration(); }
  int PinToCpu() override { return 0; }
};

// Counts what the test sets.
class SetCounters : public ThreadCounters {
 public:
  explicit SetCounters(const ThreadCounts& counts) : counts_(counts) {}
  absl::StatusOr<ThreadCounts> Read() override { return counts_; }
  absl::StatusOr<UserCounter> InstructionCounter() override {
    return absl::UnavailableError("none");
  }
  std::string origin() const override { return "the test"; }

 private:
  const ThreadCounts& counts_;
};

class LabTest : public ::testing::Test {
 protected:
  // The growth while the counts become `after`.
  Growth Measure(const ThreadCounts& after) {
    const auto growth = lab_.Measure([&] { counts_ = after; });
    EXPECT_OK(growth);
    return growth.value_or(Growth());
  }

  ThreadCounts counts_ = {.l1_loads = 1000, .l1_misses = 10};
  IdleProcessor processor_;
  const Machine machine_ = {
      .open_thread_counters =
          [this](int, RdpmcAccess) {
            return absl::StatusOr<std::unique_ptr<ThreadCounters>>(
                std::make_unique<SetCounters>(counts_));
          },
      .timestamp_hertz = [] { return 0; },
      .processor = &processor_};
  Lab lab_{machine_, /*quick=*/true, RdpmcAccess::kAsItIs};
};

TEST_F(LabTest, HitsAreLoadsWithoutMisses) {
  const Growth growth = Measure({.l1_loads = 1500, .l1_misses = 210});
  EXPECT_EQ(growth.l1_loads, 500);
  EXPECT_EQ(growth.l1_misses, 200);
  EXPECT_EQ(growth.l1_hits(), 300);
}

// 100 loads and 200 misses, which some CPUs and turns of events give.
TEST_F(LabTest, MoreMissesThanLoadsGiveNoHits) {
  const Growth growth = Measure({.l1_loads = 1100, .l1_misses = 210});
  EXPECT_EQ(growth.l1_misses, 200);
  EXPECT_FALSE(growth.l1_hits());
}

TEST_F(LabTest, HitsNeedBothCounts) {
  counts_.l1_loads.reset();
  EXPECT_FALSE(Measure({.l1_misses = 210}).l1_hits());
}

}  // namespace
}  // namespace fleetperf::pmc
