// The epochs of the processes that have batches in the spool: the last sealed
// and the last acknowledged batch of each, and whether another process uses the
// current one.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_EPOCH_LEDGER_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_EPOCH_LEDGER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "agent/deliver/spooled_batch.h"

namespace fleetperf::agent {

// Thread-compatible.
class EpochLedger {
 public:
  // `id` is this process's epoch.
  explicit EpochLedger(uint64_t id);

  const SpoolEpoch& current() const { return current_; }
  // Oldest first.
  const std::vector<SpoolEpoch>& former() const { return former_; }
  void SetFormer(std::vector<SpoolEpoch> former);
  // Forgets an epoch, except that of the previous process: its number tells the
  // aggregator that the stream of that process has ended.
  void ForgetFormer(uint32_t number);

  // Returns nullptr if the epoch is unknown.
  const SpoolEpoch* Find(uint32_t number) const;
  std::optional<uint32_t> NumberOf(uint64_t id) const;

  // Records that this process sealed its next batch.
  void AddSealed(uint64_t fingerprint);
  // Returns false if the acknowledgment was known or the epoch is unknown.
  bool Acknowledge(BatchPlace place);
  // Whether an aggregator may have the batch.
  bool MayHaveArrived(BatchPlace place) const;
  // Records that the batch may have arrived.
  void MarkSent(BatchPlace place);
  // Records that no batch after `last_arrived` has arrived.
  void Resume(BatchPlace last_arrived);

  // Whether an aggregator whose last batch of the current epoch is `sequence`,
  // with this fingerprint (0: unknown), has batches of another process.
  bool IsOfAnotherProcess(uint64_t sequence, uint64_t fingerprint) const;
  // Continues under a new epoch.
  void Fork(uint64_t id);

 private:
  SpoolEpoch* FindEpoch(uint32_t number);

  SpoolEpoch current_;
  std::vector<SpoolEpoch> former_;
  // Fingerprints of this process's batches by sequence, from the last
  // acknowledged batch on.
  std::map<uint64_t, uint64_t> fingerprints_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_EPOCH_LEDGER_H_
