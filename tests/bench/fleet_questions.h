// Questions about all machines of a FleetWorkload, while they send and after.

#ifndef FLEETPERF_TESTS_BENCH_FLEET_QUESTIONS_H_
#define FLEETPERF_TESTS_BENCH_FLEET_QUESTIONS_H_

#include <functional>
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

enum class QuestionKind {
  // The top machines and the average of the last minute, on a channel that
  // stays open, and `fleetperf machines`.
  kNear,
  // The average of all processes of all machines over the last hour, without
  // pauses between questions.
  kFar,
};

// Thread-compatible.
class FleetQuestions {
 public:
  // `server` must have samples, and outlive this object. `now` returns the time
  // of the newest samples, and is called on any thread.
  static absl::StatusOr<std::unique_ptr<FleetQuestions>> Make(
      QuestionKind kind, const FleetperfProcess& server,
      std::function<absl::Time()> now);
  ~FleetQuestions();

  // Asks each question `times` times.
  absl::StatusOr<std::vector<FleetQuestionCost>> Ask(int times);

  // Asks by turns on a thread of its own: a near question every second, or far
  // questions without a pause.
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
