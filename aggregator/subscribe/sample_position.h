// The position of samples among all samples of their machine.

#ifndef FLEETPERF_AGGREGATOR_SUBSCRIBE_SAMPLE_POSITION_H_
#define FLEETPERF_AGGREGATOR_SUBSCRIBE_SAMPLE_POSITION_H_

#include <cstdint>
#include <map>

namespace fleetperf::aggregator {

// Identifies a batch. Batches reach subscribers and the store whole, and those
// of an epoch in the order of their sequences. Clocks have no such order: a
// remote machine may restart in the middle of an epoch, and a wall clock may be
// set back.
struct SamplePosition {
  uint32_t epoch_number = 0;
  uint64_t sequence = 0;
};

// A set of batches: of each epoch, all up to one sequence. Thread-compatible.
class SeenBatches {
 public:
  bool Has(const SamplePosition& position) const {
    const auto found = last_.find(position.epoch_number);
    return found != last_.end() && position.sequence <= found->second;
  }

  void Add(const SamplePosition& position) {
    uint64_t& last = last_[position.epoch_number];
    if (position.sequence > last) last = position.sequence;
    if (last_.size() > kMaxEpochs) last_.erase(last_.begin());
  }

 private:
  // Old epochs are forgotten, because batches repeat soon or never.
  static constexpr size_t kMaxEpochs = 1000;

  std::map<uint32_t, uint64_t> last_;  // sequences by epoch
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SUBSCRIBE_SAMPLE_POSITION_H_
