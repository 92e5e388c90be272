#include "agent/deliver/definition_set.h"

#include <algorithm>

namespace fleetperf::agent {

void DefinitionSet::Add(const v1::Definitions& definitions) {
  for (const auto& machine : definitions.machines()) {
    if (ids_.insert(machine.id()).second) *lasting_.add_machines() = machine;
  }
  for (const auto& counterset : definitions.countersets()) {
    if (ids_.insert(counterset.id()).second) {
      *lasting_.add_countersets() = counterset;
    }
  }
  for (const auto& query : definitions.queries()) {
    if (ids_.insert(query.id()).second) *lasting_.add_queries() = query;
  }
  for (const v1::InstanceDefinition& instance : definitions.instances()) {
    instances_[instance.id()] = instance;
  }
}

const v1::InstanceDefinition* DefinitionSet::FindInstance(uint32_t id) const {
  const auto found = instances_.find(id);
  return found != instances_.end() ? &found->second : nullptr;
}

bool DefinitionSet::empty() const {
  return instances_.empty() && lasting_.ByteSizeLong() == 0;
}

std::vector<v1::Definitions> DefinitionSet::Parts(size_t part_bytes) const {
  std::vector<v1::Definitions> parts(1);
  size_t size = 0;
  // Returns the part to add a definition to.
  const auto part_for = [&](const auto& definition) -> v1::Definitions& {
    const size_t needed = definition.ByteSizeLong();
    if (size > 0 && size + needed > part_bytes) {
      parts.emplace_back();
      size = 0;
    }
    size += needed;
    return parts.back();
  };
  for (const auto& machine : lasting_.machines()) {
    *part_for(machine).add_machines() = machine;
  }
  for (const auto& counterset : lasting_.countersets()) {
    *part_for(counterset).add_countersets() = counterset;
  }
  for (const auto& query : lasting_.queries()) {
    *part_for(query).add_queries() = query;
  }
  std::vector<uint32_t> ids;
  ids.reserve(instances_.size());
  for (const auto& [id, instance] : instances_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const uint32_t id : ids) {
    const v1::InstanceDefinition& instance = *FindInstance(id);
    *part_for(instance).add_instances() = instance;
  }
  return parts;
}

}  // namespace fleetperf::agent
