// What a process finds in the spool's files.

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
#include "agent/deliver/spooled_batch.h"
#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {

inline constexpr uint32_t kSpoolVersion = 1;

// Not thread-safe.
struct RecoveredSpool {
  // A batch that was not sealed.
  struct Open {
    TickRange ticks;
    std::string content;  // a serialized v1::BatchContent, of all ticks
    Losses told;
  };

  // Epochs by number, up to that of the process before this one.
  std::map<uint32_t, SpoolEpoch> epochs;
  std::map<BatchPlace, HeldBatch> batches;
  // Of the process before this one.
  DefinitionSet definitions;
  std::map<uint64_t, Open> open;  // by sequence
  uint32_t process = 0;           // its number; 0: there was none
  absl::Duration age;
  absl::Time last_tick = absl::InfinitePast();
  bool ended = true;
  std::string boot_id;

  // What was found wrong; empty: nothing.
  std::string damage;
  Losses lost;  // with that

  // Counts a batch as lost by damage.
  void Lose(const HeldBatch& batch);
  void AddDamage(absl::string_view what);
  // Removes epochs without batches but the last one's, and counts what no agent
  // can have written.
  void RemoveUnsound();
  // Makes batches of what was not sealed. The process before may have sealed
  // more under the same number, and sent it: the aggregator then has this
  // number, and all of this is in it.
  void SealOpen();
  // What that process could not tell: that its machine lost its power.
  void AddPowerCut(absl::string_view boot_id, absl::Time now);
};

enum class SegmentKind {
  kComplete,  // has all of the state that it begins with
  kCutOff,    // a crash cut that off: the segments before it are complete
  kDamaged,   // or is one of an import
};
SegmentKind KindOf(absl::string_view segment);

// Applies the files' bytes. Damage is counted, and all else recovered.
class SpoolRecovery {
 public:
  // From the newest complete segment on, in their order, but those that are cut
  // off.
  void ApplySegment(uint32_t number, absl::string_view bytes);
  // After the segments.
  void ApplyTicks(absl::string_view bytes);
  // Whether a later version wrote a segment: nothing can be used.
  bool is_of_later_version() const { return is_of_later_version_; }

  RecoveredSpool& recovered() { return recovered_; }

 private:
  // `payloads`: where those of the record's batches are.
  void Apply(const v1::SpoolRecord& record, PayloadPlace payloads);
  void ApplyOpen(const v1::SpoolRecord& record);

  RecoveredSpool recovered_;
  bool is_of_later_version_ = false;
  uint32_t definition_records_ = 0;
  bool lacks_definitions_ = false;
  uint64_t told_version_ = 0;
  uint64_t last_tick_number_ = 0;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_SPOOL_RECOVERED_SPOOL_H_
