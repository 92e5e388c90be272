#include "agent/collect/instance_tracker.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::agent {
namespace {

std::string KeyOf(const InstanceTracker::Instance& instance) {
  return absl::StrCat(instance.instance_id, " ", instance.utf16_name);
}

}  // namespace

void InstanceTracker::Observe(absl::Span<const Instance> instances, bool sound,
                              std::vector<uint32_t>* definitions) {
  ++pass_;
  places_.resize(instances.size());
  occurrences_.clear();
  size_t distinct = 0;
  for (size_t i = 0; i < instances.size(); ++i) {
    Twins* twins = Find(i, instances[i]);
    if (twins->pass != pass_) {
      twins->pass = pass_;
      twins->count = 0;
      ++distinct;
    }
    occurrences_.push_back(twins->count++);
  }

  definitions->clear();
  for (size_t i = 0; i < instances.size(); ++i) {
    const Instance& instance = instances[i];
    Twins* twins = places_[i].twins;
    if (twins->lives.size() != twins->count) Renew(instance, sound, twins);
    Life& life = twins->lives[occurrences_[i]];
    if (instance.start.has_value() && life.start != instance.start) {
      if (life.start.has_value()) {
        registry_.EndLife(life.definition);
        life.definition = registry_.BeginLife(
            instance.utf16_name, instance.instance_id, occurrences_[i]);
      }
      life.start = instance.start;
    }
    definitions->push_back(life.definition);
  }
  if (sound && distinct < twins_.size()) EndMissing();
}

void InstanceTracker::EndAll() {
  ++pass_;
  places_.clear();
  EndMissing();
}

InstanceTracker::Twins* InstanceTracker::Find(size_t place,
                                              const Instance& instance) {
  Place& known = places_[place];
  if (known.twins != nullptr && known.instance_id == instance.instance_id &&
      known.utf16_name == instance.utf16_name) {
    return known.twins;
  }
  std::unique_ptr<Twins>& twins = twins_[KeyOf(instance)];
  if (twins == nullptr) twins = std::make_unique<Twins>();
  known = {std::string(instance.utf16_name), instance.instance_id, twins.get()};
  return twins.get();
}

// Their number differs from that of their lives.
void InstanceTracker::Renew(const Instance& instance, bool sound,
                            Twins* twins) {
  // Fewer in a block that is not sound: the others may be in its lost part.
  if (!sound && twins->count < twins->lives.size()) return;
  for (const Life& life : twins->lives) registry_.EndLife(life.definition);
  twins->lives.clear();
  for (uint32_t i = 0; i < twins->count; ++i) {
    twins->lives.push_back({.definition = registry_.BeginLife(
                                instance.utf16_name, instance.instance_id, i)});
  }
}

void InstanceTracker::EndMissing() {
  absl::erase_if(twins_, [this](const auto& entry) {
    const Twins& twins = *entry.second;
    if (twins.pass == pass_) return false;
    for (const Life& life : twins.lives) registry_.EndLife(life.definition);
    return true;
  });
}

}  // namespace fleetperf::agent
