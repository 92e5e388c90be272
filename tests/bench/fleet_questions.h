// Questions about all machines of a FleetWorkload, while they send and after.

#ifndef FLEETPERF_TESTS_BENCH_FLEET_QUESTIONS_H_
#define FLEETPERF_TESTS_BENCH_FLEET_QUESTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/fleetperf_process.h"

namespace fleetperf::bench {

struct FleetQuestionCost {
  std::string name;
  std::vector<absl::Duration> times;  // sorted
  // CPU of the server per question. Meaningful if it does nothing else.
  absl::Duration cpu;
};

// Asks for the top machines and the average of the last minute, on a channel
// that stays open, and runs `fleetperf machines`. Thread-compatible.
class FleetQuestions {
 public:
  // `server` must have samples, and outlive this object.
  static absl::StatusOr<std::unique_ptr<FleetQuestions>> Make(
      const FleetperfProcess& server);
  ~FleetQuestions();

  // Asks each question `times` times.
  absl::StatusOr<std::vector<FleetQuestionCost>> Ask(int times);

  // Asks by turns, every second one question, on a thread of its own.
  void Start();
  // Ends the thread that Start began.
  absl::StatusOr<std::vector<FleetQuestionCost>> Stop();

 private:
  struct State;

  explicit FleetQuestions(std::unique_ptr<State> state);

  const std::unique_ptr<State> state_;
};

}  // namespace fleetperf::bench

#endif  // FLEETPERF_TESTS_BENCH_FLEET_QUESTIONS_H_
