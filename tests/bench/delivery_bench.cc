// Measures an agent's cost from a block's samples to an acknowledged batch,
// with the spool on disk and in memory. Baselines are the parts of that work:
// SHA-256 of a batch, and a file that is written and synced as often.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "agent/deliver/delivery.h"
#include "agent/deliver/spool.h"
#include "base/sha256.h"
#include "perflib/clocks.h"
#include "tests/bench/measure.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::bench {
namespace {

using agent::BlockSamples;
using agent::Delivery;
using agent::Spool;

constexpr int kTicks = 10;  // per batch

// A machine's counters. Most are constant; the others grow at different rates.
class Machine {
 public:
  explicit Machine(uint32_t instances) : instances_(instances) {}

  BlockSamples Tick(absl::Time now) {
    constexpr uint32_t kColumns = 20;
    ++tick_;
    agent::QuerySamples query{.query = 1};
    for (uint32_t i = 1; i <= instances_; ++i) query.instances.push_back(i);
    for (uint32_t i = 0; i < instances_ * kColumns; ++i) {
      const bool grows = i % 5 < 2;
      query.values.push_back(i + (grows ? tick_ * (1000 + i % 77) : 0));
    }
    return {
        .handle = 1,
        .interval = absl::Seconds(1),
        .clocks = {.perf_time_100nsec = perflib::PerfTime100NSecFromTime(now)},
        .queries = {query}};
  }

 private:
  const uint32_t instances_;
  uint64_t tick_ = 0;
};

struct Agent {
  Agent(uint32_t instances, const std::string& directory) : machine(instances) {
    auto opened = Spool::Open({.epoch = 1, .directory = directory});
    delivery = std::make_unique<Delivery>(
        Delivery::Options{.batch_period = absl::Seconds(kTicks),
                          .clock = &clock},
        *std::move(opened));
  }

  // Delivers the ticks of one batch. With a file, each tick is written before
  // the next one is added.
  void Run() {
    for (int tick = 0; tick < kTicks; ++tick) {
      delivery->Add(machine.Tick(clock.Now()));
      clock.Advance(absl::Seconds(1));
      if (delivery->spool().keeps_ticks()) {
        delivery->spool().AwaitSaved().IgnoreError();
      }
    }
    delivery->spool().Acknowledge(
        {.epoch = agent::kThisProcess,
         .sequence = delivery->spool().open_sequence() - 1});
  }

  Machine machine;
  testing::SimulatedClock clock;
  std::unique_ptr<Delivery> delivery;
};

void Compare(uint32_t instances) {
  const testing::TempDirectory directory;
  Agent in_memory(instances, "");
  Agent on_disk(instances, directory.File("state"));
  Machine machine(instances);
  const double values = instances * 20.0 * kTicks;
  const int file = open(directory.File("file").c_str(),
                        O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  // About the size of the ticks and their batch.
  const std::string written(instances * 20 * 3, 'x');
  std::vector<Candidate> candidates = {
      {"making the samples",
       [&] {
         for (int tick = 0; tick < kTicks; ++tick) {
           Keep(machine.Tick(absl::UnixEpoch()));
         }
       }},
      {"SHA-256 of a batch", [&] { Keep(Sha256(written)); }},
      {"a file written and synced",
       [&] {
         for (int tick = 0; tick < kTicks; ++tick) {
           Keep(pwrite(file, written.data(), written.size(), 0));
         }
         Keep(fdatasync(file));
       }},
      {"delivery in memory", [&] { in_memory.Run(); }},
      {"delivery with a spool", [&] { on_disk.Run(); }},
  };
  Measure(/*rounds=*/20, /*runs=*/20, &candidates);
  close(file);
  std::printf("%u counters, %d ticks a batch\n", instances * 20, kTicks);
  for (const Candidate& candidate : candidates) {
    std::printf("  %-26s %7.1f ns/value  %5.2f x delivery in memory\n",
                candidate.name.c_str(), candidate.nanos / values,
                candidate.nanos / candidates[3].nanos);
  }
}

}  // namespace
}  // namespace fleetperf::bench

int main() {
  fleetperf::bench::Compare(50);
  fleetperf::bench::Compare(500);
}
