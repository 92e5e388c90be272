// Agents of random histories, for tests of all that a store may hold.

#ifndef FLEETPERF_TESTS_AGGREGATOR_STORE_RANDOM_FLEET_H_
#define FLEETPERF_TESTS_AGGREGATOR_STORE_RANDOM_FLEET_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::testing {

// Agents of two machines with all kinds of events: restarts, clock steps,
// instances that come and go, missing values, queries that begin and end,
// losses.
class RandomFleet {
 public:
  RandomFleet(TestStore* store, uint64_t seed) : store_(*store), random_(seed) {
    for (size_t i = 0; i < std::size(kMachines); ++i) Start(i);
  }

  static constexpr const char* kMachines[] = {"web-1", "db-1"};

  void Step() {
    const size_t i = Below(agents_.size());
    Agent& agent = agents_[i];
    if (Below(40) == 0) return Start(i);
    if (Below(30) == 0) agent.time += 1000.0 * (1.0 - Below(3));
    if (Below(50) == 0) agent.time += 3600.0 * Below(3);
    if (Below(10) == 0) agent.collects_memory = !agent.collects_memory;
    if (Below(10) == 0) agent.collects_slowly = !agent.collects_slowly;
    if (Below(20) == 0) {
      const absl::Time lost = kStart + absl::Seconds(agent.time);
      agent.writer->Lose(Below(2) == 0 ? "" : kMachines[i], lost,
                         lost + absl::Seconds(5), 5, v1::LOSS_CAUSE_SPOOL_FULL);
    }
    for (uint64_t ticks = 1 + Below(20); ticks > 0; --ticks) Tick(agent);
    received_ += absl::Seconds(10 + Below(60));
    EXPECT_OK(agent.writer->Send(received_));
  }

  absl::Time received() const { return received_; }

 private:
  struct Agent {
    std::unique_ptr<TestAgent> writer;
    uint32_t machine = 0, disk = 0, memory = 0;
    uint32_t disk_query = 0, slow_query = 0, memory_query = 0;
    uint32_t no_instance = 0;
    std::vector<uint32_t> instances;
    bool collects_memory = true;
    bool collects_slowly = false;  // the same counter, by another query
    double time = 0;
    double uptime = 0;
    uint64_t value = 0;
  };

  uint64_t Below(uint64_t limit) { return random_() % limit; }

  void Start(size_t i) {
    if (agents_.size() <= i) agents_.resize(i + 1);
    Agent& agent = agents_[i];
    agent.writer =
        std::make_unique<TestAgent>(&store_, kMachines[i], ++epochs_);
    agent.machine = agent.writer->Machine(kMachines[i]);
    agent.disk = agent.writer->Counterset(DiskRegistration());
    agent.memory = agent.writer->Counterset(MemoryRegistration());
    agent.disk_query = agent.writer->Query(agent.machine, agent.disk,
                                           absl::Seconds(1), {{kTransfers}});
    agent.slow_query = agent.writer->Query(agent.machine, agent.disk,
                                           absl::Seconds(2), {{kTransfers}});
    agent.memory_query = agent.writer->Query(agent.machine, agent.memory,
                                             absl::Seconds(1), {{kPageFaults}});
    agent.no_instance = agent.writer->Instance(agent.machine, agent.memory);
    agent.instances.clear();
  }

  void Tick(Agent& agent) {
    if (agent.instances.empty() || Below(15) == 0) {
      agent.instances.push_back(agent.writer->Instance(
          agent.machine, agent.disk, absl::StrCat("disk", Below(6)),
          static_cast<uint32_t>(Below(3))));
    }
    if (Below(30) == 0) {
      agent.writer->Retire(agent.instances.front());
      agent.instances.erase(agent.instances.begin());
    }
    agent.time += 1;
    std::vector<BatchWriter::Row> rows;
    for (const uint32_t instance : agent.instances) {
      if (Below(20) == 0) continue;
      agent.value += Below(100);
      if (Below(20) == 0) {
        rows.push_back({instance, {std::nullopt}});
      } else {
        rows.push_back({instance, {agent.value}});
      }
    }
    std::vector<BatchWriter::Result> results = {
        {agent.collects_slowly ? agent.slow_query : agent.disk_query, rows}};
    if (agent.collects_memory) {
      results.push_back(
          {agent.memory_query, {{agent.no_instance, {Below(1000)}}}});
      if (Below(10) == 0) results.back() = {agent.memory_query, {}, 5};
    }
    // No change of the time of day changes the monotonic clock.
    perflib::Clocks clocks = ClocksAt(agent.time);
    clocks.perf_time_stamp = ClocksAt(++agent.uptime).perf_time_stamp;
    agent.writer->AddBlock(1, clocks, std::move(results));
  }

  TestStore& store_;
  std::mt19937_64 random_;
  uint64_t epochs_ = 0;
  absl::Time received_ = kStart;
  std::vector<Agent> agents_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGGREGATOR_STORE_RANDOM_FLEET_H_
