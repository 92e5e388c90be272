// A machine with tasks, whose samples a test chooses.

#ifndef FLEETPERF_TESTS_E2E_TASK_MACHINE_H_
#define FLEETPERF_TESTS_E2E_TASK_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/e2e/deployment.h"
#include "tests/support/batch_writer.h"

namespace fleetperf::testing {

// Collects "% Time" and "Bytes" of the counterset "Task"
// (tests/support/tasks.h) every second. Thread-compatible.
class TaskMachine {
 public:
  // Ticks are so many seconds after `start`.
  TaskMachine(std::string name, absl::Time start);

  // Adds a task and returns its number.
  uint32_t Task(const std::string& name);

  struct Values {
    uint32_t task;
    int64_t time;  // in units of 100 ns since the start of the task
    uint64_t bytes;
  };
  void Tick(int seconds, const std::vector<Values>& tasks);

  // Sends all ticks to the aggregator, which stores them.
  void Deliver(Deployment& deployment);

 private:
  const std::string name_;
  const absl::Time start_;
  BatchWriter writer_;
  const uint32_t machine_;
  const uint32_t counterset_;
  const uint32_t query_;
};

// Returns a full second, this long ago.
absl::Time SecondsAgo(int64_t seconds);

// Returns the arguments --from and --to for so many seconds after `start`.
std::vector<std::string> RangeFrom(absl::Time start, int seconds);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_TASK_MACHINE_H_
