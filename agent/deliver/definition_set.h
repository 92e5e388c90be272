// The definitions that an epoch's batches use.

#ifndef FLEETPERF_AGENT_DELIVER_DEFINITION_SET_H_
#define FLEETPERF_AGENT_DELIVER_DEFINITION_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::agent {

// Thread-compatible.
class DefinitionSet {
 public:
  // Adds new definitions. Instances replace earlier ones with their ids.
  void Add(const v1::Definitions& definitions);
  void RemoveInstance(uint32_t id) { instances_.erase(id); }

  // Returns nullptr if the id is undefined.
  const v1::InstanceDefinition* FindInstance(uint32_t id) const;
  bool empty() const;

  // Returns all definitions in one or more parts of at most about `part_bytes`.
  // A definition refers only to its own part or to earlier ones.
  std::vector<v1::Definitions> Parts(size_t part_bytes = size_t{1} << 20) const;

 private:
  // All definitions except instances. They are few and never removed.
  v1::Definitions lasting_;
  absl::flat_hash_set<uint32_t> ids_;  // of lasting_
  absl::flat_hash_map<uint32_t, v1::InstanceDefinition> instances_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_DELIVER_DEFINITION_SET_H_
