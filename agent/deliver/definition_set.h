// The definitions of an epoch.

#ifndef FLEETPERF_AGENT_DELIVER_DEFINITION_SET_H_
#define FLEETPERF_AGENT_DELIVER_DEFINITION_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {

// Not thread-safe.
class DefinitionSet {
 public:
  // Adds definitions that are not there yet; instances replace earlier ones.
  void Add(const v1::Definitions& definitions);
  void RemoveInstance(uint32_t id) { instances_.erase(id); }

  // Null if there is none.
  const v1::InstanceDefinition* FindInstance(uint32_t id) const;
  bool empty() const;

  // All, in at least one part, of about this size at most. What a definition
  // refers to is in its part or in one before.
  std::vector<v1::Definitions> Parts(size_t part_bytes = size_t{1} << 20) const;

 private:
  v1::Definitions lasting_;  // all but instances: few, and never removed
  absl::flat_hash_set<uint32_t> ids_;  // of these
  absl::flat_hash_map<uint32_t, v1::InstanceDefinition> instances_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_DEFINITION_SET_H_
