#include "agent/deliver/dictionary.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/deliver/definition_set.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::agent {
namespace {

v1::CountersetRegistration WithoutHelp(
    const perflib::CountersetRegistration& registration) {
  v1::CountersetRegistration proto = ToProto(registration);
  proto.clear_help();
  for (v1::CounterRegistration& counter : *proto.mutable_counters()) {
    counter.clear_help();
  }
  return proto;
}

}  // namespace

Dictionary::Dictionary(bool is_saved)
    : definitions_(std::make_unique<DefinitionSet>()),
      pending_(std::make_unique<v1::Definitions>()),
      is_saved_(is_saved),
      unsaved_(std::make_unique<v1::Definitions>()) {}

Dictionary::~Dictionary() = default;

uint32_t Dictionary::IdOf(std::string key, bool* is_new) {
  const auto [entry, inserted] = ids_.try_emplace(std::move(key), next_id_);
  if (inserted) ++next_id_;
  *is_new = inserted;
  return entry->second;
}

uint32_t Dictionary::DefineMachine(absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  bool is_new;
  const uint32_t id = IdOf(absl::StrCat("machine ", name), &is_new);
  if (is_new) {
    v1::Definitions added;
    v1::MachineDefinition* definition = added.add_machines();
    definition->set_id(id);
    definition->set_name(std::string(name));
    AddLasting(added);
  }
  return id;
}

uint32_t Dictionary::DefineCounterset(
    const perflib::CountersetRegistration& registration) {
  absl::MutexLock lock(&mutex_);
  bool is_new;
  const uint32_t id =
      IdOf(absl::StrCat("counterset ", registration.CanonicalBytes()), &is_new);
  if (is_new) {
    v1::Definitions added;
    v1::CountersetDefinition* definition = added.add_countersets();
    definition->set_id(id);
    *definition->mutable_registration() = WithoutHelp(registration);
    AddLasting(added);
  }
  return id;
}

uint32_t Dictionary::DefineQuery(uint32_t machine, uint32_t counterset,
                                 absl::Duration interval,
                                 const std::vector<Column>& columns) {
  std::string key = absl::StrCat("query ", machine, " ", counterset, " ",
                                 absl::ToInt64Nanoseconds(interval));
  v1::Definitions added;
  v1::QueryDefinition& definition = *added.add_queries();
  definition.set_machine(machine);
  definition.set_counterset(counterset);
  *definition.mutable_interval() = ToProto(interval);
  for (const Column& column : columns) {
    absl::StrAppend(&key, " ", column.counter_id, "/", column.value_size, "/",
                    column.only_linked, "/", column.wraps);
    v1::ColumnDefinition* proto = definition.add_columns();
    proto->set_counter_id(column.counter_id);
    proto->set_value_size(column.value_size);
    proto->set_only_linked(column.only_linked);
    proto->set_wraps(column.wraps);
  }
  absl::MutexLock lock(&mutex_);
  bool is_new;
  const uint32_t id = IdOf(std::move(key), &is_new);
  if (is_new) {
    definition.set_id(id);
    AddLasting(added);
  }
  return id;
}

uint32_t Dictionary::DefineInstance(uint32_t machine, uint32_t counterset,
                                    absl::string_view name,
                                    uint32_t instance_id, uint32_t occurrence,
                                    bool is_born) {
  absl::MutexLock lock(&mutex_);
  const uint32_t id = next_id_++;
  v1::Definitions added;
  v1::InstanceDefinition* definition = added.add_instances();
  definition->set_id(id);
  definition->set_machine(machine);
  definition->set_counterset(counterset);
  definition->set_name(std::string(name));
  definition->set_instance_id(instance_id);
  definition->set_occurrence(occurrence);
  definition->set_is_born(is_born);
  definitions_->Add(added);
  pending_->MergeFrom(added);
  if (is_saved_) unsaved_instances_.insert(id);
  return id;
}

void Dictionary::AddLasting(const v1::Definitions& added) {
  definitions_->Add(added);
  pending_->MergeFrom(added);
  if (is_saved_) unsaved_->MergeFrom(added);
}

void Dictionary::RetireInstance(uint32_t instance) {
  absl::MutexLock lock(&mutex_);
  pending_retired_.push_back(instance);
}

bool Dictionary::TakePending(uint64_t sequence, v1::BatchContent* content) {
  absl::MutexLock lock(&mutex_);
  const bool has_definitions =
      pending_->machines_size() > 0 || pending_->countersets_size() > 0 ||
      pending_->queries_size() > 0 || pending_->instances_size() > 0;
  if (has_definitions) {
    content->mutable_definitions()->Swap(pending_.get());
    pending_->Clear();
  }
  for (const uint32_t instance : pending_retired_) {
    content->add_retired_instances(instance);
    retired_.emplace_back(sequence, instance);
  }
  const bool has_retired = !pending_retired_.empty();
  pending_retired_.clear();
  return has_definitions || has_retired;
}

void Dictionary::Settle(uint64_t sequence) {
  absl::MutexLock lock(&mutex_);
  while (!retired_.empty() && retired_.front().first <= sequence) {
    const uint32_t instance = retired_.front().second;
    retired_.pop_front();
    definitions_->RemoveInstance(instance);
    if (is_saved_ && unsaved_instances_.erase(instance) == 0) {
      removed_.push_back(instance);
    }
  }
}

std::vector<v1::Definitions> Dictionary::All(size_t part_bytes) const {
  absl::MutexLock lock(&mutex_);
  return definitions_->Parts(part_bytes);
}

DictionaryChanges Dictionary::TakeChanges() {
  absl::MutexLock lock(&mutex_);
  DictionaryChanges changes = {.removed = std::exchange(removed_, {})};
  if (unsaved_instances_.empty() && unsaved_->ByteSizeLong() == 0) {
    return changes;
  }
  changes.added = std::make_unique<v1::Definitions>();
  changes.added->Swap(unsaved_.get());
  for (const uint32_t id : std::exchange(unsaved_instances_, {})) {
    *changes.added->add_instances() = *definitions_->FindInstance(id);
  }
  return changes;
}

std::vector<v1::Definitions> Dictionary::TakeAll(size_t part_bytes) {
  absl::MutexLock lock(&mutex_);
  unsaved_->Clear();
  unsaved_instances_.clear();
  removed_.clear();
  return definitions_->Parts(part_bytes);
}

}  // namespace fleetperf::agent
