#include "agent/collect/instance_tracker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fleetperf::agent {
namespace {

std::string KeyOf(const InstanceTracker::Instance& instance) {
  return absl::StrCat(instance.instance_id, " ", instance.utf16_name);
}

}  // namespace

void InstanceTracker::Observe(absl::Span<const Instance> instances,
                              bool complete,
                              std::optional<uint64_t>* last_clock,
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

  const std::optional<uint64_t> clock_before =
      last_clock->has_value() ? *last_clock : last_clock_;
  std::optional<uint64_t> clock;
  definitions->clear();
  for (size_t i = 0; i < instances.size(); ++i) {
    const Instance& instance = instances[i];
    Twins* twins = places_[i].twins;
    if (twins->lives.size() != twins->count) Renew(complete, twins);
    Life& life = twins->lives[occurrences_[i]];
    if (instance.start.has_value() && life.start != instance.start) {
      if (life.start.has_value()) End(life);
      life.start = instance.start;
    }
    if (instance.wanted && life.definition == 0) {
      const bool is_born = clock_before.has_value() &&
                           instance.start.has_value() &&
                           *instance.start > *clock_before;
      life.definition = registry_.BeginLife(
          instance.utf16_name, instance.instance_id, occurrences_[i], is_born);
    }
    definitions->push_back(life.definition);
    clock = std::max(clock, instance.clock);  // nullopt is the least
  }
  if (clock.has_value()) *last_clock = last_clock_ = clock;
  if (complete && distinct < twins_.size()) EndMissing();
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

// Starts new lives after the number of twins changed.
void InstanceTracker::Renew(bool complete, Twins* twins) {
  // In an incomplete list, the missing twins may be in the lost part.
  if (!complete && twins->count < twins->lives.size()) return;
  for (Life& life : twins->lives) End(life);
  twins->lives.assign(twins->count, {});
}

void InstanceTracker::End(Life& life) {
  if (life.definition != 0) registry_.EndLife(life.definition);
  life.definition = 0;
}

void InstanceTracker::EndMissing() {
  absl::erase_if(twins_, [this](auto& entry) {
    Twins& twins = *entry.second;
    if (twins.pass == pass_) return false;
    for (Life& life : twins.lives) End(life);
    return true;
  });
}

}  // namespace fleetperf::agent
