#include "aggregator/samples/directory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "aggregator/samples/stored_machine.h"
#include "fleetperf/v1/fleet.pb.h"
#include "values/clock_check.h"

namespace fleetperf::aggregator {
namespace {

// The limit of a machine's QueryTicks. Beyond it, the oldest is dropped.
constexpr size_t kMaxQueriesOfMachine = 1024;

}  // namespace

const Directory::Machine* Directory::Find(const std::string& machine) const {
  const auto found = by_name_.find(machine);
  return found != by_name_.end() ? found->second : nullptr;
}

Directory::Machine& Directory::Get(const std::string& machine) {
  const auto found = by_name_.find(machine);
  if (found != by_name_.end()) return *found->second;
  auto& [name, entry] = *machines_.try_emplace(machine).first;
  by_name_[name] = &entry;
  by_lower_name_[absl::AsciiStrToLower(name)].push_back(name);
  entry.set_labels = label_rules_->For(name);
  return entry;
}

void Directory::AddMachine(const std::string& machine) {
  absl::MutexLock lock(&mutex_);
  Machine& entry = Get(machine);
  entered_ += !std::exchange(entry.is_entered, true);
  hidden_ -= std::exchange(entry.is_hidden, false);
}

void Directory::AddMachine(const StoredMachine& stored) {
  const v1::Machine& machine = stored.machine;
  const std::string& name = machine.name();
  AddMachine(name);
  Labels labels = {machine.labels().begin(), machine.labels().end()};
  std::vector<std::string> changed;
  {
    absl::MutexLock lock(&mutex_);
    Machine& entry = Get(name);
    if (entry.own_labels != labels) {
      changed = WithLabelsOf(name);
    } else if (entry.agent != machine.agent()) {
      changed = {name};
    }
    SetAgent(name, &entry, machine.agent());
    entry.certificate = stored.certificate;
    entry.own_labels = std::move(labels);
  }
  NotifyListener(std::move(changed));
}

void Directory::HideMachine(const std::string& machine) {
  std::vector<std::string> changed;
  {
    absl::MutexLock lock(&mutex_);
    Machine& entry = Get(machine);
    entered_ -= std::exchange(entry.is_entered, false);
    hidden_ += !std::exchange(entry.is_hidden, true);
    changed = WithLabelsOf(machine);
    SetAgent(machine, &entry, "");
    entry.certificate.clear();
    entry.own_labels.clear();
  }
  NotifyListener(std::move(changed));
}

std::vector<std::string> Directory::WithLabelsOf(
    const std::string& machine) const {
  std::vector<std::string> names = {machine};
  const auto others = remote_.find(machine);
  if (others != remote_.end()) {
    names.insert(names.end(), others->second.begin(), others->second.end());
  }
  return names;
}

void Directory::SetAgent(const std::string& name, Machine* machine,
                         std::string agent) {
  if (machine->agent == agent) return;
  const auto former = remote_.find(machine->agent);
  if (former != remote_.end()) {
    former->second.erase(name);
    if (former->second.empty()) remote_.erase(former);
  }
  if (!agent.empty() && agent != name) remote_[agent].insert(name);
  machine->agent = std::move(agent);
}

void Directory::SetLabelRules(LabelRules rules) {
  const auto shared = std::make_shared<const LabelRules>(std::move(rules));
  std::vector<std::string> names;
  {
    absl::MutexLock lock(&mutex_);
    label_rules_ = shared;  // machines that are added from now on use them
    for (const auto& [name, machine] : machines_) names.push_back(name);
  }
  std::vector<Labels> set;
  set.reserve(names.size());
  for (const std::string& name : names) set.push_back(shared->For(name));
  std::vector<std::string> changed;
  {
    absl::MutexLock lock(&mutex_);
    for (size_t i = 0; i < names.size(); ++i) {
      Machine& machine = Get(names[i]);
      if (machine.set_labels == set[i]) continue;
      machine.set_labels = std::move(set[i]);
      const auto with = WithLabelsOf(names[i]);
      changed.insert(changed.end(), with.begin(), with.end());
    }
  }
  NotifyListener(std::move(changed));
}

void Directory::SetLabelsListener(LabelsListener listener) {
  absl::MutexLock lock(&mutex_);
  labels_listener_ = std::move(listener);
}

void Directory::NotifyListener(std::vector<std::string> machines) {
  if (machines.empty()) return;
  LabelsListener listener;
  {
    absl::ReaderMutexLock lock(&mutex_);
    listener = labels_listener_;
  }
  if (listener) listener(std::move(machines));
}

std::shared_ptr<QueryTicks> Directory::AddQuery(const CollectedQuery& query) {
  absl::MutexLock lock(&mutex_);
  Machine& machine = Get(query.machine);
  const CountersetList& before = machine.countersets;
  machine.countersets = lists_.Share(
      WithQuery(query, CountersetList::List(before.begin(), before.end())),
      machines_.size());
  counterset_names_.insert(query.schema->registration.name);
  schemas_[query.schema->hash] = query.schema;
  auto& all = machine.ticks;
  const auto known =
      std::find_if(all.begin(), all.end(),
                   [&](const auto& ticks) { return ticks->IsOf(query); });
  if (known != all.end()) return *known;
  if (all.size() == kMaxQueriesOfMachine) {
    all.erase(std::min_element(all.begin(), all.end(),
                               [](const auto& a, const auto& b) {
                                 return a->newest() < b->newest();
                               }));
  }
  return all.emplace_back(std::make_shared<QueryTicks>(query));
}

void Directory::SetNewestSample(const std::string& machine, absl::Time time) {
  absl::MutexLock lock(&mutex_);
  Get(machine).newest_sample = time;
}

std::vector<std::string> Directory::Machines() const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const auto& [name, machine] : machines_) {
    if (!machine.is_hidden) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Directory::MachinesNamed(
    const absl::flat_hash_set<std::string>& names) const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const auto known = by_lower_name_.find(name);
    if (known == by_lower_name_.end()) continue;
    for (const absl::string_view one : known->second) {
      if (!by_name_.at(one)->is_hidden) found.emplace_back(one);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool Directory::HasMachine(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  return found != nullptr && found->is_entered;
}

size_t Directory::registered() const {
  absl::ReaderMutexLock lock(&mutex_);
  return entered_;
}

size_t Directory::size() const {
  absl::ReaderMutexLock lock(&mutex_);
  return machines_.size() - hidden_;
}

std::optional<absl::Time> Directory::NewestSample(
    const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  if (found == nullptr || found->is_hidden) return std::nullopt;
  return found->newest_sample;
}

std::vector<std::string> Directory::CountersetNames() const {
  absl::ReaderMutexLock lock(&mutex_);
  return {counterset_names_.begin(), counterset_names_.end()};
}

bool Directory::HasCounter(const perflib::Path& path) const {
  absl::ReaderMutexLock lock(&mutex_);
  return std::any_of(schemas_.begin(), schemas_.end(), [&](const auto& one) {
    const std::shared_ptr<const Schema> schema = one.second.lock();
    if (schema == nullptr) return false;
    const perflib::CountersetRegistration& registration = schema->registration;
    return path.MatchesCounterset(registration.name, registration.guid) &&
           std::any_of(registration.counters.begin(),
                       registration.counters.end(), [&](const auto& counter) {
                         return path.MatchesCounter(counter.name,
                                                    counter.counter_id);
                       });
  });
}

CountersetList Directory::Countersets(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  return found != nullptr ? found->countersets : CountersetList();
}

std::string Directory::AgentOf(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  return found != nullptr ? found->agent : std::string();
}

std::string Directory::HolderOf(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  if (found == nullptr) return machine;
  if (!found->certificate.empty()) return found->certificate;
  return found->agent.empty() ? machine : found->agent;
}

Labels Directory::LabelsOf(const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  Labels labels;
  const Machine* found = Find(machine);
  if (found == nullptr) {  // an expected machine that was never seen
    SetLabels(label_rules_->For(machine), &labels);
    return labels;
  }
  const Machine* agent = Find(found->agent);
  if (agent != nullptr) {
    labels = agent->own_labels;
    SetLabels(agent->set_labels, &labels);
  }
  if (agent != found) SetLabels(found->set_labels, &labels);
  return labels;
}

void Directory::ReplaceLabels(v1::Machine* machine) const {
  const Labels labels = LabelsOf(machine->name());
  machine->mutable_labels()->clear();
  machine->mutable_labels()->insert(labels.begin(), labels.end());
}

std::set<uint32_t> Directory::Collecting(
    const std::string& machine, const CollectedCounterset& counterset) const {
  std::set<uint32_t> collecting;
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  if (found == nullptr) return collecting;
  absl::Time oldest = absl::InfiniteFuture();
  absl::Time newest = absl::InfinitePast();
  std::vector<const QueryTicks*> of_counterset;
  for (const auto& ticks : found->ticks) {
    oldest = std::min(oldest, ticks->oldest().value_or(oldest));
    newest = std::max(newest, ticks->newest().value_or(newest));
    if (ticks->newest().has_value() && ticks->Has(*counterset.schema)) {
      of_counterset.push_back(ticks.get());
    }
  }
  for (const auto& [id, interval] : counterset.counters) {
    // A counter without a tick is collected if its first one may be to come.
    bool is_known = false;
    bool is_recent = false;
    for (const QueryTicks* const ticks : of_counterset) {
      if (!ticks->Has(*counterset.schema, id)) continue;
      is_known = true;
      is_recent = is_recent || newest - *ticks->newest() <=
                                   ticks->interval() * kMaxIntervalsApart;
    }
    if (is_known ? is_recent
                 : newest < oldest ||
                       newest - oldest <= interval * kMaxIntervalsApart) {
      collecting.insert(collecting.end(), id);
    }
  }
  return collecting;
}

std::optional<absl::Time> Directory::NewestTick(const std::string& machine,
                                                const Schema& schema,
                                                uint32_t counter_id) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  if (found == nullptr) return std::nullopt;
  std::optional<absl::Time> newest;
  for (const auto& ticks : found->ticks) {
    if (ticks->Has(schema, counter_id)) {
      newest = std::max(newest, ticks->newest());
    }
  }
  return newest;
}

std::vector<std::shared_ptr<const QueryTicks>> Directory::QueriesOf(
    const std::string& machine) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  if (found == nullptr) return {};
  return {found->ticks.begin(), found->ticks.end()};
}

absl::Duration Directory::LongestInterval(const std::string& machine,
                                          const Schema& schema,
                                          absl::Time from) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Machine* found = Find(machine);
  if (found == nullptr) return absl::ZeroDuration();
  absl::Duration longest;
  for (const auto& ticks : found->ticks) {
    const auto newest = ticks->newest();
    const absl::Duration interval = ticks->interval();
    if (newest.has_value() && ticks->Has(schema) &&
        *newest >= from - interval * kMaxIntervalsBefore) {
      longest = std::max(longest, interval);
    }
  }
  return longest;
}

}  // namespace fleetperf::aggregator
