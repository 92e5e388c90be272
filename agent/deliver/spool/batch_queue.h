// The sealed batches in the order of sending, and the remains of dropped
// batches that may have arrived at the aggregator.
//
// A batch is unsaved or saved. Memory holds the payload of each unsaved batch
// and, as a cache, of some saved ones. A dropped batch has no payload; it is
// unsaved until the log has its remains. The sums of bytes follow each change.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_BATCH_QUEUE_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_BATCH_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "agent/deliver/spool/held_batch.h"
#include "agent/deliver/spool/held_run.h"
#include "agent/deliver/spooled_batch.h"

namespace fleetperf::agent {

// Thread-compatible. Pointers to batches are valid until the next change.
class BatchQueue {
 public:
  // Adds or replaces a batch. `is_saved`: the log has it.
  void Add(HeldBatch batch, bool is_saved);
  // Removes a batch. A no-op if it is absent.
  void Remove(BatchPlace place);
  // Removes the batches of the epoch up to `place`.
  void RemoveUpTo(BatchPlace place);
  // Discards a batch's payload and keeps its remains.
  void Drop(BatchPlace place, LossCause cause);
  // Removes and returns the remains of the epoch's batches after `place`.
  std::vector<HeldBatch> TakeDroppedAfter(BatchPlace place);

  // Find, Next and First return nullptr if no such batch exists.
  const HeldBatch* Find(BatchPlace place) const;
  // The first batch after `place` that was not dropped.
  const HeldBatch* Next(BatchPlace place) const;
  // The first batch of all, dropped or not.
  const HeldBatch* First() const;
  // Whether the queue has batches or remains of an epoch.
  bool HasAny(uint32_t epoch) const;
  // The number of batches and remains, and of batches alone.
  size_t size() const { return batches_.size(); }
  size_t held() const { return held_.size(); }

  // Batches and remains that the log lacks.
  std::vector<HeldBatch> Unsaved() const;
  // The first unsaved batch after `place`; nullptr if none exists.
  const HeldBatch* NextUnsaved(BatchPlace place) const;
  // Batches and remains that the log has.
  std::vector<HeldBatch> Saved() const;
  // The runs of all batches that were not dropped.
  const std::vector<HeldRun>& Runs();
  // Marks batches as saved, with their payloads at the given places. Ignores
  // batches that were removed or dropped in the meantime.
  void SetSaved(const std::vector<HeldBatch>& batches);
  // Frees the oldest cached payloads until at most `bytes` of them remain.
  void ShrinkCache(uint64_t bytes);
  // The segments that hold payloads.
  std::set<uint32_t> Segments() const;

  // Bytes of payloads in memory: all, and of unsaved batches.
  uint64_t memory_bytes() const { return memory_bytes_; }
  uint64_t unsaved_bytes() const { return unsaved_bytes_; }
  // Bytes of segments that hold payloads.
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  struct Segment {
    uint64_t bytes = 0;
    uint64_t payloads = 0;
  };
  using Batches = std::map<BatchPlace, HeldBatch>;

  Batches::iterator Erase(Batches::iterator batch);
  // Subtracts a batch's payload from the sums, before the batch changes.
  void ForgetPayload(const HeldBatch& batch);
  void AddToSegment(const HeldBatch& batch);
  // Removes a batch from the runs, before it changes.
  void RemoveFromRuns(const HeldBatch& batch);

  Batches batches_;
  std::set<BatchPlace> held_;  // without dropped batches
  std::set<BatchPlace> unsaved_;
  std::set<BatchPlace> cached_;  // saved, with a payload in memory
  std::map<uint32_t, Segment> segments_;
  // nullopt: must be found anew. Each save needs them, also of a spool that
  // holds the batches of days.
  std::optional<std::vector<HeldRun>> runs_;
  uint64_t memory_bytes_ = 0;
  uint64_t unsaved_bytes_ = 0;
  uint64_t file_bytes_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_BATCH_QUEUE_H_
