// Tracks the batches that aggregators' stores have acknowledged, in order to
// detect when a store has lost some.

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

// Receipts are held in memory: acknowledgments to a former process are
// unknown. They are kept per store, because a store never had the batches that
// another store acknowledged. Thread-safe.
class Receipts {
 public:
  // Batches that a store acknowledged but no longer has.
  struct Lost {
    uint64_t first_sequence = 0;
    uint64_t last_sequence = 0;
    // The ticks whose number is known, in a range that covers all lost ticks
    // and may be longer; and the losses that the batches reported.
    TickRange ticks;
    Losses told;
  };

  // Called when a store reports the last sequence that it has of an epoch.
  // Returns the batches that the store has lost since it acknowledged them.
  // Each loss is returned once.
  std::optional<Lost> Resume(const std::string& store, uint64_t epoch,
                             uint64_t durable);
  // Records that a batch was sent to a store.
  void AddSent(const std::string& store, uint64_t epoch, uint64_t sequence,
               const TickRange& ticks, const Losses& told);
  // Records the acknowledgment of all sent batches up to `sequence`. A no-op
  // for an epoch without receipts.
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
    std::deque<Batch> sent;  // the newest batches, also acknowledged ones
    TickRange older;         // the time range of batches removed from `sent`
    uint64_t older_sequence = 0;  // the last of these batches
  };

  absl::Mutex mutex_;
  std::map<std::pair<std::string, uint64_t>, Epoch> epochs_
      ABSL_GUARDED_BY(mutex_);  // by store and epoch
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_RECEIPTS_H_
