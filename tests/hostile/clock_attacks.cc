#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "absl/time/clock.h"
#include "fleetperf/v1/collection.pb.h"
#include "perflib/clocks.h"
#include "tests/e2e/fake_agent.h"
#include "tests/e2e/ticks.h"
#include "tests/hostile/attacks.h"
#include "tests/support/stepped_clock.h"

namespace fleetperf::testing {
namespace {

using Random = std::mt19937_64;

// Beyond the largest step.
constexpr absl::Duration kMargin = absl::Hours(24);

// Returns a step of up to some hours, or one close to the interval of ticks.
absl::Duration AnyStep(Random* random) {
  const int64_t max_seconds = (*random)() % 2 == 0 ? 12 * 3600 : 3;
  return absl::Milliseconds(
      std::uniform_int_distribution<int64_t>(-1000, 1000)(*random) *
      max_seconds);
}

// An agent that delivers one tick after the other, with clocks that a test
// dictates.
class Deliverer {
 public:
  Deliverer(const Target& target, const std::string& name, uint64_t epoch)
      : name_(name),
        epoch_(epoch),
        agent_(target.address, target.agent, MakeHello(name, epoch, 1, 0)) {}

  // Delivers the next tick. It must be acknowledged, or rejected with a reason.
  void Deliver(const perflib::Clocks& clocks) {
    v1::CollectRequest batch = MakeNumberBatch(name_, epoch_, ++sequence_, 0);
    EditContent(
        [&](v1::BatchContent& content) {
          v1::BlockColumns& block = *content.mutable_blocks(0);
          block.set_perf_time_100nsec(0, clocks.perf_time_100nsec);
          block.set_perf_time_stamp(0, clocks.perf_time_stamp);
          block.set_perf_freq(0, clocks.perf_freq);
        },
        &batch);
    ASSERT_TRUE(agent_.Send(batch)) << agent_.Finish();
    ReceiveAnswer(clocks.perf_time_100nsec);
  }

  // The times of the acknowledged ticks.
  const Ticks& acknowledged() const { return acknowledged_; }
  uint64_t rejected() const { return rejected_; }

 private:
  void ReceiveAnswer(int64_t time) {
    for (;;) {
      const auto response = agent_.Receive();
      ASSERT_TRUE(response.has_value()) << agent_.Finish();
      if (response->reject().sequence() == sequence_) {
        EXPECT_NE(response->reject().reason(), "");
        ++rejected_;
        return;
      }
      if (response->ack().sequence() == sequence_) {
        acknowledged_.insert(time);
        return;
      }
    }
  }

  const std::string name_;
  const uint64_t epoch_;
  FakeAgent agent_;
  uint64_t sequence_ = 0;
  Ticks acknowledged_;
  uint64_t rejected_ = 0;
};

// Returns the clocks of a machine whose time of day is wrong by `offset`.
perflib::Clocks ClocksWith(absl::Duration offset, int64_t tick) {
  perflib::Clocks clocks =
      perflib::LinuxClocks(absl::Seconds(tick), absl::Now() + offset);
  // No two ticks have the same time, so that all can be counted.
  constexpr int64_t kTicks = 1'000'000;
  clocks.perf_time_100nsec += tick - clocks.perf_time_100nsec % kTicks;
  return clocks;
}

// The ticks of `name` are stored, once.
void ExpectStored(const Target& target, const std::string& name,
                  const Ticks& ticks) {
  const absl::Time now = absl::Now();
  const Stored stored =
      ReadStored(*target.deployment, name, "\\Numbers\\Number", now - kMargin,
                 now + kMargin);
  EXPECT_GT(ticks.size(), 0) << name;
  EXPECT_EQ(FindMissing(ticks, stored).size(), 0) << name;
  EXPECT_EQ(stored.repeated.size(), 0) << name;
  EXPECT_EQ(stored.lost.size(), 0) << name;
}

// An agent whose clock steps before each tick.
void StepAgentsClock(const Target& target, const Stop& stop) {
  Random random(target.seed);
  Deliverer deliverer(target, "evil", 101);
  for (int64_t tick = 1; !stop() && !::testing::Test::HasFailure(); ++tick) {
    deliverer.Deliver(ClocksWith(AnyStep(&random), tick));
  }
  EXPECT_EQ(deliverer.rejected(), 0);
  ExpectStored(target, "evil", deliverer.acknowledged());
}

// An agent whose clocks have values that no clock has, and honest ones.
void ClaimImpossibleClocks(const Target& target, const Stop& stop) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kExtremes[] = {kMin, kMin + 1, -1,       0,
                                   1,    kMax - 1, kMax / 2, kMax};
  Random random(target.seed);
  const auto any = [&] { return kExtremes[random() % std::size(kExtremes)]; };
  Deliverer deliverer(target, "evil2", 102);
  Ticks honest;
  for (int64_t tick = 1; !stop() && !::testing::Test::HasFailure(); ++tick) {
    perflib::Clocks clocks = ClocksWith(absl::ZeroDuration(), tick);
    if (tick % 2 == 0) honest.insert(clocks.perf_time_100nsec);
    if (tick % 2 == 1) clocks.perf_time_100nsec = any();
    if (tick % 4 == 1) clocks.perf_time_stamp = any();
    if (tick % 8 == 1) clocks.perf_freq = any();
    deliverer.Deliver(clocks);
  }
  EXPECT_EQ(deliverer.rejected(), 0);
  ExpectStored(target, "evil2", honest);
}

// The aggregator's own clock steps before each tick of an agent.
void StepAggregatorsClock(const Target& target, const Stop& stop) {
  Random random(target.seed);
  Deliverer deliverer(target, "evil", 103);
  for (int64_t tick = 1; !stop() && !::testing::Test::HasFailure(); ++tick) {
    target.clock->Set(AnyStep(&random));
    deliverer.Deliver(ClocksWith(absl::ZeroDuration(), tick));
  }
  // The aggregator has noticed the steps, and removes nothing.
  target.clock->Set(absl::Hours(24));
  EXPECT_EQ(target.deployment->Json({"status"}).front()["clock"], "jumped");
  target.clock->Set(absl::ZeroDuration());
  EXPECT_EQ(deliverer.rejected(), 0);
  ExpectStored(target, "evil", deliverer.acknowledged());
}

}  // namespace

std::vector<Attack> ClockAttacks() {
  return {{"agent's clock steps", StepAgentsClock},
          {"impossible clocks", ClaimImpossibleClocks},
          {"aggregator's clock steps", StepAggregatorsClock}};
}

}  // namespace fleetperf::testing
