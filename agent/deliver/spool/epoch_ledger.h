// The epochs of the spool's processes: how far each came, and whose it is.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_EPOCH_LEDGER_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_EPOCH_LEDGER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "agent/deliver/spooled_batch.h"

namespace fleetperf::agent {

// Not thread-safe.
class EpochLedger {
 public:
  // `id` is this process's epoch.
  explicit EpochLedger(uint64_t id);

  const SpoolEpoch& current() const { return current_; }
  // Oldest first.
  const std::vector<SpoolEpoch>& former() const { return former_; }
  void SetFormer(std::vector<SpoolEpoch> former);
  // The one of the process before this stays: the aggregator learns from it
  // that a stream of that process is over.
  void ForgetFormer(uint32_t number);

  // Null if there is none.
  const SpoolEpoch* Find(uint32_t number) const;
  std::optional<uint32_t> NumberOf(uint64_t id) const;

  // This process has sealed its next batch.
  void AddSealed(uint64_t fingerprint);
  // False if that was known, or there is no such epoch.
  bool Acknowledge(BatchPlace place);
  // Whether an aggregator may have a batch.
  bool MayHaveArrived(BatchPlace place) const;
  // It may, from now on.
  void MarkSent(BatchPlace place);
  // Nothing after `last_arrived` has arrived.
  void Resume(BatchPlace last_arrived);

  // Whether an aggregator that has this process's epoch up to `sequence`, with
  // that batch's fingerprint (0: not known), has batches of another process.
  bool IsAnothers(uint64_t sequence, uint64_t fingerprint) const;
  // Goes on under a new epoch.
  void Fork(uint64_t id);

 private:
  SpoolEpoch* FindEpoch(uint32_t number);

  SpoolEpoch current_;  // up to the last sealed batch
  std::vector<SpoolEpoch> former_;
  // Of this process's batches, by sequence, from the last acknowledged one.
  std::map<uint64_t, uint64_t> fingerprints_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_EPOCH_LEDGER_H_
