#include "aggregator/samples/directory.h"

#include <algorithm>

namespace fleetperf::aggregator {

void Directory::AddMachine(const std::string& machine) {
  absl::MutexLock lock(&mutex_);
  bool& is_entered = machines_[machine].is_entered;
  entered_ += !is_entered;
  is_entered = true;
}

void Directory::AddQuery(const CollectedQuery& query) {
  absl::MutexLock lock(&mutex_);
  auto& countersets = machines_[query.machine].countersets;
  auto& counterset = countersets[query.schema->hash];
  CollectedCounterset changed;
  if (counterset != nullptr) changed = *counterset;
  changed.schema = query.schema;
  for (const CollectedQuery::Column& column : query.columns) {
    if (!column.only_linked) {
      changed.counters[column.counter_id] = query.interval;
    }
  }
  counterset = std::make_shared<const CollectedCounterset>(std::move(changed));
  counterset_names_.insert(query.schema->registration.name);
}

void Directory::SetNewestSample(const std::string& machine, absl::Time time) {
  absl::MutexLock lock(&mutex_);
  machines_[machine].newest_sample = time;
}

std::vector<std::string> Directory::Machines() const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const auto& [name, machine] : machines_) names.push_back(name);
  return names;
}

bool Directory::HasMachine(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  return found != machines_.end() && found->second.is_entered;
}

bool Directory::HasMachines() const {
  absl::ReaderMutexLock lock(&mutex_);
  return entered_ > 0;
}

size_t Directory::size() const {
  absl::ReaderMutexLock lock(&mutex_);
  return machines_.size();
}

std::optional<absl::Time> Directory::NewestSample(
    const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = machines_.find(machine);
  if (found == machines_.end()) return std::nullopt;
  return found->second.newest_sample;
}

std::vector<std::string> Directory::CountersetNames() const {
  absl::ReaderMutexLock lock(&mutex_);
  return {counterset_names_.begin(), counterset_names_.end()};
}

std::vector<std::shared_ptr<const CollectedCounterset>> Directory::Countersets(
    const std::string& machine) const {
  std::vector<std::shared_ptr<const CollectedCounterset>> countersets;
  {
    absl::ReaderMutexLock lock(&mutex_);
    const auto found = machines_.find(machine);
    if (found == machines_.end()) return countersets;
    for (const auto& [hash, counterset] : found->second.countersets) {
      countersets.push_back(counterset);
    }
  }
  std::sort(
      countersets.begin(), countersets.end(), [](const auto& a, const auto& b) {
        return a->schema->registration.name < b->schema->registration.name;
      });
  return countersets;
}

}  // namespace fleetperf::aggregator
