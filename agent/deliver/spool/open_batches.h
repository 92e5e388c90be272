// The batches that are not sealed yet: the open one, and closed ones that are
// being compressed. Each tick and loss belongs to one of them by its sequence,
// so that the file can follow at any moment.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_OPEN_BATCHES_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_OPEN_BATCHES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "agent/deliver/losses.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

// Not thread-safe.
class OpenBatches {
 public:
  OpenBatches() : batches_(1) {}

  // The sequence of the batch that takes what is added, from 1.
  uint64_t open_sequence() const { return batches_.back().sequence; }
  // Whether a batch is closed and not sealed.
  bool is_sealing() const { return batches_.size() > 1; }

  void AddTick(const TickRange& range, std::string content);
  void AddLosses(const Losses& losses);
  // What the open batch tells. From now on the next one is open.
  Losses Close();
  // The oldest closed batch is sealed; its ticks are in it.
  void RemoveSealed();

  // Whether a tick, or what is told, is not saved.
  bool has_unsaved() const;
  // Whether ticks that AddTo gave are still needed.
  bool needs_saved_ticks() const;
  // Adds to a record what is told, and the ticks: all or the unsaved ones.
  void AddTo(bool all_ticks, v1::SpoolRecord* record) const;
  // Adds what is told.
  void AddToldTo(v1::SpoolRecord* record) const;
  // The record was written.
  void SetSaved(const v1::SpoolRecord& record);
  // Bytes of ticks that are needed.
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

  std::deque<Batch> batches_;  // the last is open
  uint64_t last_tick_ = 0;     // numbers of ticks
  uint64_t last_saved_tick_ = 0;
  uint64_t tick_bytes_ = 0;
  uint64_t told_version_ = 1;
  uint64_t saved_told_version_ = 1;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_OPEN_BATCHES_H_
