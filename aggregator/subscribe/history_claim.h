// Decides whether a subscription that selects a machine again gets the
// machine's requested stored values.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_HISTORY_CLAIM_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_HISTORY_CLAIM_H_

#include <atomic>

namespace fleetperf::aggregator {

// A subscription's claim to the history of a machine, from the time when the
// subscription begins to select the machine until it no longer does.
// Thread-safe.
class HistoryClaim {
 public:
  // Must be called before values are sent. Returns false after End: none must
  // be sent.
  bool Begin() {
    State state = State::kUnused;
    return state_.compare_exchange_strong(state, State::kBegun) ||
           state == State::kBegun;
  }

  // Ends the claim. Returns whether Begin returned true before.
  bool End() { return state_.exchange(State::kEnded) == State::kBegun; }
  bool has_ended() const { return state_ == State::kEnded; }

 private:
  enum class State { kUnused, kBegun, kEnded };

  std::atomic<State> state_ = State::kUnused;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_HISTORY_CLAIM_H_
