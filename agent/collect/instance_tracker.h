// Follows the instances of one counterset of one machine from block to block
// and distinguishes their lives.
//
// A life is born if its start is later than the last block of the query before
// its first one, by the counterset's own clock. The tracker may follow several
// queries, each of which wants other instances: the block of one that does not
// want an instance says nothing about its birth for another one.
//
// A new life begins when an instance was absent from a complete list or when
// its start changed. If the number of instances with the same name and id
// changes, all of them begin new lives, because they are
// indistinguishable.

#ifndef FLEETPERF_AGENT_COLLECT_INSTANCE_TRACKER_H_
#define FLEETPERF_AGENT_COLLECT_INSTANCE_TRACKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace fleetperf::agent {

// Assigns definition ids to lives, and releases them.
class LifeRegistry {
 public:
  virtual ~LifeRegistry() = default;
  // `occurrence` is the position among the instances with that name and id.
  // `is_born`: the instance started after the last block before this one.
  virtual uint32_t BeginLife(absl::string_view utf16_name, uint32_t instance_id,
                             uint32_t occurrence, bool is_born) = 0;
  virtual void EndLife(uint32_t definition) = 0;
};

// Thread-compatible.
class InstanceTracker {
 public:
  explicit InstanceTracker(LifeRegistry* registry) : registry_(*registry) {}

  struct Instance {
    absl::string_view utf16_name;
    uint32_t instance_id = 0;
    // The raw value of the counter that holds the start time, if there is one.
    std::optional<uint64_t> start;
    // The raw value of the clock that the start is relative to.
    std::optional<uint64_t> clock;
    // Whether the life needs a definition. Unwanted lives are tracked without
    // one, because a later plan may want them.
    bool wanted = true;
  };

  // Processes the instances of one block. Sets `definitions` to their
  // definition ids, in the same order; 0 for none. If the list is complete,
  // missing instances end. Otherwise they may be in the unreadable part, so
  // they continue. `last_clock` is the clock of the query's last block that has
  // one, and becomes that of this block; before the query's first block, it is
  // std::nullopt, and the last block of any query counts.
  void Observe(absl::Span<const Instance> instances, bool complete,
               std::optional<uint64_t>* last_clock,
               std::vector<uint32_t>* definitions);

  // Ends all lives.
  void EndAll();

 private:
  struct Life {
    uint32_t definition = 0;  // 0: not wanted so far
    std::optional<uint64_t> start;
  };
  // The instances with the same name and id: nearly always one.
  struct Twins {
    uint64_t pass = 0;   // the last pass that saw them
    uint32_t count = 0;  // their number in that pass
    std::vector<Life> lives;
  };
  // A position in the last block. An instance at the same position needs no
  // look-up.
  struct Place {
    std::string utf16_name;
    uint32_t instance_id = 0;
    Twins* twins = nullptr;
  };

  Twins* Find(size_t place, const Instance& instance);
  void Renew(bool complete, Twins* twins);
  void End(Life& life);
  void EndMissing();

  LifeRegistry& registry_;
  uint64_t pass_ = 0;
  std::optional<uint64_t> last_clock_;  // in the last block of any query
  absl::flat_hash_map<std::string, std::unique_ptr<Twins>> twins_;  // by key
  std::vector<Place> places_;
  std::vector<uint32_t> occurrences_;  // by position in the block
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_INSTANCE_TRACKER_H_
