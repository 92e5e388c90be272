// Counts of held ticks, by which recovery notices that records are missing.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_HELD_RUN_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_HELD_RUN_H_

#include <cstdint>
#include <map>
#include <vector>

#include "agent/deliver/losses.h"
#include "agent/deliver/spool/held_batch.h"
#include "agent/deliver/spooled_batch.h"

namespace fleetperf::agent {

// Batches of consecutive sequences in one epoch.
struct HeldRun {
  BatchPlace first;
  uint64_t last_sequence = 0;
  // The ticks in these batches, and the lost ticks that sealed batches report.
  TickRange ticks;

  BatchPlace last() const {
    return {.epoch = first.epoch, .sequence = last_sequence};
  }
};

// Returns the runs of all batches that are not dropped, in order.
std::vector<HeldRun> RunsOf(const std::map<BatchPlace, HeldBatch>& batches);

// Adds a batch that comes after all others and is not dropped.
void AppendToRuns(const HeldBatch& batch, std::vector<HeldRun>* runs);

// Removes the first batch of all. `next` is the one with the next sequence;
// nullptr if there is none. Returns false if it cannot tell the rest, for which
// RunsOf is needed then.
bool RemoveFirstFromRuns(const HeldBatch& batch, const HeldBatch* next,
                         std::vector<HeldRun>* runs);

// Removes the batches outside `runs`, except dropped ones. Returns the ticks of
// `runs` that no batch has; `ticks` of the result is 0 if none are missing.
// `runs` are in order.
TickRange KeepRuns(const std::vector<HeldRun>& runs,
                   std::map<BatchPlace, HeldBatch>* batches);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_HELD_RUN_H_
