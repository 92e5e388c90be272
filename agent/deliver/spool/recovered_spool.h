// The contents of the spool's files, recovered at the start of a process.
//
// SpoolRecovery applies the records in order. Each record is a change, so a
// damaged record loses only its own content. The numbers in records show
// missing ones: without a record of definitions, the later batches and ticks of
// its process cannot be used and count as lost.

#ifndef FLEETPERF_AGENT_DELIVER_SPOOL_RECOVERED_SPOOL_H_
#define FLEETPERF_AGENT_DELIVER_SPOOL_RECOVERED_SPOOL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/deliver/definition_set.h"
#include "agent/deliver/losses.h"
#include "agent/deliver/spool/held_batch.h"
#include "agent/deliver/spool/held_run.h"
#include "agent/deliver/spooled_batch.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

inline constexpr uint32_t kSpoolVersion = 1;

// Thread-compatible.
struct RecoveredSpool {
  // A batch that the previous process did not seal.
  struct Open {
    TickRange ticks;
    std::string content;  // a serialized v1::BatchContent with all ticks
    Losses told;          // the losses that the batch reports
  };

  // Epochs by number. The last one is the previous process's.
  std::map<uint32_t, SpoolEpoch> epochs;
  std::map<BatchPlace, HeldBatch> batches;
  // The previous process's definitions, open batches by sequence, and number
  // (0: no previous process).
  DefinitionSet definitions;
  std::map<uint64_t, Open> open;
  uint32_t process = 0;
  absl::Duration age;
  absl::Time last_tick = absl::InfinitePast();
  bool ended = true;
  std::string boot_id;

  // The newest counts of held ticks.
  struct Counts {
    uint32_t process = 0;
    uint64_t save = 0;
    std::vector<HeldRun> held;
    std::vector<HeldRun> open_ticks;
    // Whether they are those of spool.held, and so newer than all records.
    bool are_apart = false;
  };
  Counts counts;
  bool has_counts() const {
    return counts.are_apart && counts.process == process;
  }
  // Batches and ticks without their definitions or epochs. Only the counts tell
  // whether they are held.
  std::map<BatchPlace, HeldBatch> unusable;
  std::map<uint64_t, TickRange> unusable_open;  // by sequence

  // A description of the damage found; empty: none.
  std::string damage;
  Losses lost;  // by the damage

  // Counts a batch as lost by damage.
  void Lose(const HeldBatch& batch);
  void AddDamage(absl::string_view found);
  // Removes acknowledged batches, and epochs without batches except the last
  // one. Counts contents that no agent writes as damage.
  void RemoveUnsound();
  // Removes batches that the counts lack: a damaged record removed them. Counts
  // missing and unusable ticks as lost. Unsynced ticks are lost by a power cut
  // if the machine has started since.
  void CompareWithCounts(absl::string_view boot_id);
  // Seals the open batches. The previous process may have sealed and sent more
  // ticks under the same sequence; the aggregator then has that batch, with all
  // of these ticks.
  void SealOpen();
  // Adds a loss for a power cut of the machine, which the previous process
  // could not report.
  void AddPowerCut(absl::string_view boot_id, absl::Time now);
  bool IsAfterPowerCut(absl::string_view boot_id) const;
};

enum class SegmentKind {
  kComplete,  // begins with a whole state
  kCutOff,    // a crash cut off the state; an earlier segment is complete
  kDamaged,
  kReleased,  // its payloads were released
};
SegmentKind KindOf(absl::string_view segment);

// Applies the records of the files. Counts damage and recovers the rest.
// Thread-compatible.
class SpoolRecovery {
 public:
  // Must be called for the newest complete segment and each later one that is
  // not cut off, in order.
  void ApplySegment(uint32_t number, absl::string_view bytes);
  // Must be called after all segments, with the file of counts.
  void ApplyCounts(absl::string_view bytes);
  // Must be called after that.
  void ApplyTicks(absl::string_view bytes);
  // Whether a later version wrote a segment. Then nothing can be used.
  bool is_of_later_version() const { return is_of_later_version_; }

  RecoveredSpool& recovered() { return recovered_; }

 private:
  // `payloads`: the place of the payloads that follow the record.
  void Apply(const v1::SpoolRecord& record, PayloadPlace payloads);
  void ApplyEpochs(const v1::SpoolRecord& record);
  void ApplyOpen(const v1::SpoolRecord& record);
  void BeginProcess(uint32_t process);

  RecoveredSpool recovered_;
  uint32_t segment_ = 0;  // the last one
  bool is_of_later_version_ = false;
  uint32_t definition_records_ = 0;
  bool lacks_definitions_ = false;
  uint64_t told_version_ = 0;
  uint64_t last_tick_number_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_RECOVERED_SPOOL_H_
