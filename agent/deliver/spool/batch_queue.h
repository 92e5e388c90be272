// All batches that are held, in the order in which they are sent, and the
// remains of dropped ones that may have arrived.
//
// Memory has all but payloads, which it has of those that no segment has and,
// as a cache, of some others.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_BATCH_QUEUE_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_BATCH_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "agent/deliver/spool/held_batch.h"
#include "agent/deliver/spooled_batch.h"

namespace fleetperf::agent {

// Not thread-safe. Pointers to batches are valid until the next change.
class BatchQueue {
 public:
  // A batch that the log has, if `is_saved`.
  void Add(HeldBatch batch, bool is_saved);
  // Does nothing if there is no such batch.
  void Remove(BatchPlace place);
  // Those of the epoch up to `place`.
  void RemoveUpTo(BatchPlace place);
  // Leaves only the remains.
  void Drop(BatchPlace place, LossCause cause);
  // Removes the remains of batches of the epoch after `place`.
  std::vector<HeldBatch> TakeDroppedAfter(BatchPlace place);

  // Null if there is none.
  const HeldBatch* Find(BatchPlace place) const;
  // The first one after `place` that was not dropped.
  const HeldBatch* Next(BatchPlace place) const;
  // The first one of all, dropped or not.
  const HeldBatch* First() const;
  // Whether there are any, or remains, of an epoch.
  bool HasAny(uint32_t epoch) const;
  size_t size() const { return batches_.size(); }

  // Batches, and remains, that the log does not have.
  std::vector<HeldBatch> Unsaved() const;
  // The first of these after `place`; null if there is none.
  const HeldBatch* NextUnsaved(BatchPlace place) const;
  // The others.
  std::vector<HeldBatch> Saved() const;
  // The log has these, with payloads at these places. Some may be gone or
  // dropped since.
  void SetSaved(const std::vector<HeldBatch>& batches);
  // Forgets payloads that segments have, but this many bytes of them.
  void ShrinkCache(uint64_t bytes);
  // The segments that hold payloads.
  std::set<uint32_t> Segments() const;

  // Of payloads in memory.
  uint64_t memory_bytes() const { return memory_bytes_; }
  uint64_t unsaved_bytes() const { return unsaved_bytes_; }
  // Of segments that hold payloads.
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Segment {
    uint64_t bytes = 0;
    uint64_t payloads = 0;
  };
  using Batches = std::map<BatchPlace, HeldBatch>;

  Batches::iterator Erase(Batches::iterator batch);
  // Of one batch, which is about to change.
  void ForgetPayload(const HeldBatch& batch);
  void AddToSegment(const HeldBatch& batch);

  Batches batches_;
  std::set<BatchPlace> unsaved_;
  std::set<BatchPlace> cached_;  // saved, with a payload in memory
  std::map<uint32_t, Segment> segments_;
  uint64_t memory_bytes_ = 0;
  uint64_t unsaved_bytes_ = 0;
  uint64_t file_bytes_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_BATCH_QUEUE_H_
