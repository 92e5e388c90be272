// Runs the processes of a scenario with one fault, and chooses the faults.

#ifndef FLEETPERF_TESTS_FAULTS_FAULT_RUN_H_
#define FLEETPERF_TESTS_FAULTS_FAULT_RUN_H_

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/faults/fail_once.h"

namespace fleetperf::testing {

// Tells the test what a process did, as pairs of a key and a text. Thread-safe.
class Reporter {
 public:
  explicit Reporter(int pipe) : pipe_(pipe) {}

  // `text` must not contain a line feed.
  void Tell(absl::string_view key, absl::string_view text);

 private:
  std::mutex mutex_;
  const int pipe_;
};

// What processes told.
class Told {
 public:
  void Add(std::string key, std::string text) {
    lines_.emplace_back(std::move(key), std::move(text));
  }
  void Append(const Told& other) {
    lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end());
  }
  // The texts with this key, in order.
  std::vector<std::string> Of(absl::string_view key) const;
  bool Has(absl::string_view key) const { return !Of(key).empty(); }

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

// Runs `body` in a child process, which ends without destructors, like a killed
// one. Its warnings and errors are told with the key "log". If a signal ends
// the process, or it does not end within 30 s, that is told with the key
// "wrong". The calling process must have one thread.
Told RunProcess(const std::function<void(Reporter&)>& body);

// Calls `run` without a fault, and then with one fault at a time: every kind of
// fault in every kind of call that the first run made, at one such call, chosen
// at random with a fixed seed. With the environment variable
// FLEETPERF_EVERY_FAULT, at each call; with FLEETPERF_FAULT, only those whose
// names contain its value. `run` returns what is wrong, which fails the test.
void TryFaults(
    const std::string& directory,
    const std::function<std::vector<std::string>(const Fault* fault)>& run);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_FAULTS_FAULT_RUN_H_
