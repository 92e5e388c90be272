// Follows the instances of one counterset of one machine from block to block
// and tells their lives apart.
//
// A new life begins when an instance was absent from a complete list, when its
// start changed, and, for all instances of one name and id, when their number
// changed: then nobody knows which is which.

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

// Gives lives their definition ids, and takes them back.
class LifeRegistry {
 public:
  virtual ~LifeRegistry() = default;
  // `occurrence` is which of the instances of that name and id it is.
  virtual uint32_t BeginLife(absl::string_view utf16_name, uint32_t instance_id,
                             uint32_t occurrence) = 0;
  virtual void EndLife(uint32_t definition) = 0;
};

// Not thread-safe.
class InstanceTracker {
 public:
  explicit InstanceTracker(LifeRegistry* registry) : registry_(*registry) {}

  struct Instance {
    absl::string_view utf16_name;
    uint32_t instance_id = 0;
    // The raw value of the counter that says when it started, if there is one.
    std::optional<uint64_t> start;
    // Whether its life needs a definition. Lives that nobody wants are followed
    // without one, in case somebody does later.
    bool wanted = true;
  };

  // `instances` is what a block shows. Sets `definitions` to their definition
  // ids, in the same order; 0 where there is none. Those that are missing end
  // if the list is complete; otherwise they may be in the part that could not
  // be read.
  void Observe(absl::Span<const Instance> instances, bool complete,
               std::vector<uint32_t>* definitions);

  // Ends all lives.
  void EndAll();

 private:
  struct Life {
    uint32_t definition = 0;  // 0: nobody wanted it yet
    std::optional<uint64_t> start;
  };
  // The instances of one name and id: nearly always one.
  struct Twins {
    uint64_t pass = 0;   // in which they were seen last
    uint32_t count = 0;  // how many, in that pass
    std::vector<Life> lives;
  };
  // A place of the last block: what is there again needs no look-up.
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
  absl::flat_hash_map<std::string, std::unique_ptr<Twins>> twins_;  // by key
  std::vector<Place> places_;
  std::vector<uint32_t> occurrences_;  // by position in the block
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_INSTANCE_TRACKER_H_
