// The batches that are not sealed: the open batch, and closed batches that are
// being compressed.
//
// Each tick and loss belongs to one of these batches by sequence, also in the
// files, so the files can be written at any moment. A process that recovers the
// files seals the ticks that it finds under that sequence. The former process
// may have sent a batch with this sequence; that batch has all of these ticks.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_OPEN_BATCHES_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_OPEN_BATCHES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "agent/deliver/losses.h"
#include "agent/deliver/spool/held_run.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

// Thread-compatible.
class OpenBatches {
 public:
  OpenBatches() : batches_(1) {}

  // The sequence of the open batch, starting at 1.
  uint64_t open_sequence() const { return batches_.back().sequence; }
  // Whether a batch is closed but not sealed.
  bool is_sealing() const { return batches_.size() > 1; }

  void AddTick(const TickRange& range, std::string content);
  void AddLosses(const Losses& losses);
  // Closes the open batch, opens the next one, and returns the losses that the
  // closed batch reports.
  Losses Close();
  // Removes the oldest closed batch, which is sealed.
  void RemoveSealed();

  // Whether ticks or losses are unsaved.
  bool has_unsaved() const;
  // Whether saved ticks are still needed.
  bool needs_saved_ticks() const;
  // Adds the losses and the ticks (all, or the unsaved ones) to a record.
  void AddTo(bool all_ticks, v1::SpoolRecord* record) const;
  // Adds the losses to a record.
  void AddToldTo(v1::SpoolRecord* record) const;
  // The ticks of each batch.
  std::vector<HeldRun> Runs() const;
  // Marks the ticks and losses of a record as saved.
  void SetSaved(const v1::SpoolRecord& record);
  // Bytes of the ticks.
  uint64_t tick_bytes() const { return tick_bytes_; }

 private:
  struct Tick {
    uint64_t number = 0;
    TickRange range;
    std::string content;
  };
  struct Batch {
    uint64_t sequence = 1;
    std::vector<Tick> ticks;
    Losses told;
  };

  std::deque<Batch> batches_;  // the last one is open
  uint64_t last_tick_ = 0;     // the number of the newest tick
  uint64_t last_saved_tick_ = 0;
  uint64_t tick_bytes_ = 0;
  uint64_t told_version_ = 1;
  uint64_t saved_told_version_ = 1;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_OPEN_BATCHES_H_
