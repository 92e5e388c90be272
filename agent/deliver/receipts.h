// What aggregators' stores have acknowledged, and what was in it: so that it is
// noticed when a store does not have it any more.

#ifndef FLEETPERF_AGENT_DELIVER_RECEIPTS_H_
#define FLEETPERF_AGENT_DELIVER_RECEIPTS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agent/deliver/losses.h"

namespace fleetperf::agent {

// In memory: what was acknowledged to a former process is not known. Another
// store than the one that acknowledged a batch never had it, so receipts are
// kept by store. Thread-safe.
class Receipts {
 public:
  // What a store acknowledged and does not have any more.
  struct Lost {
    uint64_t first_sequence = 0;
    uint64_t last_sequence = 0;
    // Those ticks that are known, in a stretch that is of all of them, and
    // perhaps longer; and what the batches told was lost before.
    TickRange ticks;
    Losses told;
  };

  // A store says how far it has an epoch. What it lost of it, once: it goes on
  // from there.
  std::optional<Lost> Resume(const std::string& store, uint64_t epoch,
                             uint64_t durable);
  // A batch is sent to a store.
  void AddSent(const std::string& store, uint64_t epoch, uint64_t sequence,
               const TickRange& ticks, const Losses& told);
  // All up to this batch is acknowledged, of what was sent or resumed.
  void Acknowledge(const std::string& store, uint64_t epoch, uint64_t sequence);
  // Forgets all other epochs.
  void KeepOnly(const std::set<uint64_t>& epochs);

 private:
  struct Batch {
    uint64_t sequence = 0;
    TickRange ticks;
    Losses told;
  };
  struct Epoch {
    uint64_t acknowledged = 0;
    std::deque<Batch> sent;  // the newest of them, also acknowledged ones
    TickRange older;         // when those were that are not in `sent` any more
    uint64_t older_sequence = 0;  // the last of those
  };

  absl::Mutex mutex_;
  std::map<std::pair<std::string, uint64_t>, Epoch> epochs_
      ABSL_GUARDED_BY(mutex_);  // by store and epoch
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_RECEIPTS_H_
