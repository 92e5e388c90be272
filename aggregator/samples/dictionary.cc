#include "aggregator/samples/dictionary.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "aggregator/samples/machine_name.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

// Unused schemas are removed once there are this many more entries than twice
// the number used.
constexpr size_t kMaxUnusedSchemas = 1000;

absl::Status CheckId(absl::string_view what, uint32_t id) {
  if (id != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, ".id is 0"));
}

absl::Status NotDefined(absl::string_view what, uint32_t id) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, " ", id, " is not defined"));
}

}  // namespace

std::shared_ptr<const Schema> SchemaTable::Intern(
    perflib::CountersetRegistration registration) {
  std::string hash = Sha256(registration.CanonicalBytes());
  absl::MutexLock lock(&mutex_);
  std::weak_ptr<const Schema>& known = schemas_[hash];
  std::shared_ptr<const Schema> schema = known.lock();
  if (schema == nullptr) {
    schema = std::make_shared<const Schema>(
        Schema{std::move(hash), std::move(registration)});
    known = schema;
    if (schemas_.size() >= 2 * used_ + kMaxUnusedSchemas) {
      absl::erase_if(schemas_,
                     [](const auto& named) { return named.second.expired(); });
      used_ = schemas_.size();
    }
  }
  return schema;
}

Dictionary::Dictionary(uint32_t epoch_number, SchemaTable* schemas,
                       std::unique_ptr<const DefinitionReader> reader,
                       const Limits& limits)
    : epoch_number_(epoch_number),
      schemas_(*schemas),
      reader_(std::move(reader)),
      limits_(limits) {}

absl::Status Dictionary::Apply(const v1::Definitions& definitions) {
  absl::MutexLock lock(&mutex_);
  absl::Status status;  // the first error
  for (const auto& definition : definitions.machines()) {
    status.Update(AddMachine(definition));
  }
  for (const auto& definition : definitions.countersets()) {
    status.Update(AddCounterset(definition));
  }
  for (const auto& definition : definitions.queries()) {
    status.Update(AddQuery(definition));
  }
  for (const auto& definition : definitions.instances()) {
    status.Update(AddInstance(definition));
  }
  return status;
}

absl::Status Dictionary::RemoveChanged(v1::Definitions* definitions) {
  absl::MutexLock lock(&mutex_);
  absl::Status status;  // the first error
  status.Update(RemoveChanged(Kind::kMachine, "MachineDefinition",
                              definitions->mutable_machines()));
  status.Update(RemoveChanged(Kind::kCounterset, "CountersetDefinition",
                              definitions->mutable_countersets()));
  status.Update(RemoveChanged(Kind::kQuery, "QueryDefinition",
                              definitions->mutable_queries()));
  status.Update(RemoveChanged(Kind::kInstance, "InstanceDefinition",
                              definitions->mutable_instances()));
  return status;
}

template <typename List>
absl::Status Dictionary::RemoveChanged(Kind kind, absl::string_view name,
                                       List* list) {
  if (list->empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(uint32_t* const last, LastId(kind));
  absl::Status status;  // the first error
  absl::flat_hash_set<uint32_t> seen;
  // Agents number definitions in ascending order, so that most are new.
  const auto is_changed = [&](const auto& definition) {
    mutex_.AssertHeld();
    const bool is_repeated = !seen.insert(definition.id()).second;
    if (!is_repeated && definition.id() > *last) {
      *last = definition.id();
      return false;
    }
    const absl::StatusOr<bool> same =
        is_repeated ? absl::StatusOr<bool>(false) : IsSame(definition);
    if (absl::IsFailedPrecondition(same.status()) ||
        absl::IsDataLoss(same.status())) {
      return false;  // not defined, or to be repaired
    }
    if (same.ok() && *same) return false;
    status.Update(same.ok()
                      ? absl::InvalidArgumentError(absl::StrCat(
                            name, " ", definition.id(),
                            " differs from the first one with this id, which "
                            "stays in force (max_definitions_of_id)"))
                      : same.status());
    return true;
  };
  list->erase(std::remove_if(list->begin(), list->end(), is_changed),
              list->end());
  return status;
}

uint32_t Dictionary::LastIdInMemory(Kind kind) const {
  uint32_t last = 0;
  const auto note_ids = [&](const auto& definitions) {
    for (const auto& [id, definition] : definitions) last = std::max(last, id);
  };
  switch (kind) {
    case Kind::kMachine:
      note_ids(machines_);
      break;
    case Kind::kCounterset:
      note_ids(countersets_);
      break;
    case Kind::kQuery:
      note_ids(queries_);
      break;
    case Kind::kInstance:
      note_ids(instances_);
      break;
  }
  return last;
}

absl::StatusOr<uint32_t*> Dictionary::LastId(Kind kind) {
  const auto known = last_ids_.find(kind);
  if (known != last_ids_.end()) return &known->second;
  uint32_t last = LastIdInMemory(kind);
  if (reader_ != nullptr) {
    ASSIGN_OR_RETURN(const uint32_t stored, reader_->LastId(kind));
    last = std::max(last, stored);
  }
  return &last_ids_.try_emplace(kind, last).first->second;
}

absl::StatusOr<bool> Dictionary::IsSame(
    const v1::MachineDefinition& definition) {
  RETURN_IF_ERROR(EnsureMachine(definition.id()));
  return machines_[definition.id()] == CanonicalName(definition.name());
}

absl::StatusOr<bool> Dictionary::IsSame(
    const v1::CountersetDefinition& definition) {
  RETURN_IF_ERROR(EnsureCounterset(definition.id()));
  const auto registration = FromProto(definition.registration());
  return registration.ok() && countersets_[definition.id()]->hash ==
                                  Sha256(registration->CanonicalBytes());
}

absl::StatusOr<bool> Dictionary::IsSame(const v1::QueryDefinition& definition) {
  RETURN_IF_ERROR(EnsureQuery(definition.id()));
  const auto made = MakeQuery(definition);
  const CollectedQuery& query = *queries_[definition.id()];
  return made.ok() && made->machine == query.machine &&
         made->schema == query.schema && made->interval == query.interval &&
         made->columns == query.columns;
}

// A stored instance is not kept in memory: a dictionary may have many that
// retired long ago.
absl::StatusOr<bool> Dictionary::IsSame(
    const v1::InstanceDefinition& definition) {
  const auto known = instances_.find(definition.id());
  if (known != instances_.end()) {
    return *known->second == MakeInstance(definition);
  }
  ASSIGN_OR_RETURN(const auto stored,
                   Read<v1::InstanceDefinition>(Kind::kInstance, "instance",
                                                definition.id()));
  return MakeInstance(stored) == MakeInstance(definition);
}

absl::Status Dictionary::AddMachine(const v1::MachineDefinition& definition) {
  RETURN_IF_ERROR(CheckId("MachineDefinition", definition.id()));
  RETURN_IF_ERROR(CheckName("MachineDefinition", definition.name()));
  if (definition.name().empty()) {
    return absl::InvalidArgumentError("MachineDefinition.name is empty");
  }
  if (machines_.contains(definition.id())) return absl::OkStatus();
  if (machines_.size() >= limits_.max_machines) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "more than ", limits_.max_machines, " machines (max_machines)"));
  }
  machines_.emplace(definition.id(), CanonicalName(definition.name()));
  return absl::OkStatus();
}

absl::Status Dictionary::AddCounterset(
    const v1::CountersetDefinition& definition) {
  RETURN_IF_ERROR(CheckId("CountersetDefinition", definition.id()));
  if (countersets_.contains(definition.id())) return absl::OkStatus();
  if (countersets_.size() >= limits_.max_countersets) {
    return absl::ResourceExhaustedError(
        absl::StrCat("more than ", limits_.max_countersets,
                     " countersets (max_countersets)"));
  }
  ASSIGN_OR_RETURN(perflib::CountersetRegistration registration,
                   FromProto(definition.registration()));
  countersets_.emplace(definition.id(),
                       schemas_.Intern(std::move(registration)));
  return absl::OkStatus();
}

absl::Status Dictionary::AddQuery(const v1::QueryDefinition& definition) {
  RETURN_IF_ERROR(CheckId("QueryDefinition", definition.id()));
  if (queries_.contains(definition.id())) return absl::OkStatus();
  ASSIGN_OR_RETURN(CollectedQuery query, MakeQuery(definition));
  if (columns_ + query.columns.size() > limits_.max_columns) {
    return absl::ResourceExhaustedError(
        absl::StrCat("queries of more than ", limits_.max_columns,
                     " columns in all (max_columns)"));
  }
  columns_ += query.columns.size();
  size_t& columns_of =
      columns_of_[{definition.machine(), definition.counterset()}];
  columns_of = std::max(columns_of, query.columns.size());
  queries_.emplace(definition.id(),
                   std::make_shared<const CollectedQuery>(std::move(query)));
  return absl::OkStatus();
}

absl::StatusOr<CollectedQuery> Dictionary::MakeQuery(
    const v1::QueryDefinition& definition) {
  RETURN_IF_ERROR(EnsureMachine(definition.machine()));
  RETURN_IF_ERROR(EnsureCounterset(definition.counterset()));
  const std::string name = absl::StrCat("QueryDefinition ", definition.id());
  const absl::Duration interval = FromProto(definition.interval());
  if (interval < kMinCollectionInterval || interval > kMaxCollectionInterval) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ".interval is ", absl::FormatDuration(interval),
                     ", not between 1s and 24h"));
  }
  if (definition.columns_size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has no columns"));
  }
  if (static_cast<size_t>(definition.columns_size()) > kMaxCounters) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", definition.columns_size(),
                     " columns, more than ", kMaxCounters));
  }
  CollectedQuery query;
  query.machine = machines_[definition.machine()];
  query.schema = countersets_[definition.counterset()];
  query.interval = interval;
  const auto& registration = query.schema->registration;
  absl::flat_hash_set<uint32_t> counter_ids;
  for (const auto& counter : registration.counters) {
    counter_ids.insert(counter.counter_id);
  }
  for (const v1::ColumnDefinition& column : definition.columns()) {
    if (column.value_size() != 4 && column.value_size() != 8) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": value_size is ", column.value_size(), ", neither 4 nor 8"));
    }
    if (!counter_ids.contains(column.counter_id())) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": counterset \"", registration.name,
                       "\" has no counter ", column.counter_id()));
    }
    query.columns.push_back({.counter_id = column.counter_id(),
                             .value_size = column.value_size(),
                             .only_linked = column.only_linked(),
                             .wraps = column.wraps()});
  }
  return query;
}

absl::Status Dictionary::AddInstance(const v1::InstanceDefinition& definition) {
  RETURN_IF_ERROR(CheckId("InstanceDefinition", definition.id()));
  RETURN_IF_ERROR(CheckName("InstanceDefinition", definition.name()));
  if (instances_.contains(definition.id())) return absl::OkStatus();
  if (instances_.size() >= limits_.max_instances) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "more than ", limits_.max_instances, " instances (max_instances)"));
  }
  instances_.emplace(definition.id(), std::make_shared<const Instance>(
                                          MakeInstance(definition)));
  return absl::OkStatus();
}

Instance Dictionary::MakeInstance(
    const v1::InstanceDefinition& definition) const {
  return {.name = definition.name(),
          .instance_id = definition.instance_id(),
          .occurrence = definition.occurrence(),
          .life = MakeLife(epoch_number_, definition.id()),
          .is_born = definition.is_born()};
}

void Dictionary::Retire(uint32_t instance) {
  absl::MutexLock lock(&mutex_);
  instances_.erase(instance);
}

size_t Dictionary::CountSeries(const v1::Definitions& definitions) const {
  absl::MutexLock lock(&mutex_);
  size_t series = 0;
  for (const auto& definition : definitions.instances()) {
    const auto columns =
        columns_of_.find({definition.machine(), definition.counterset()});
    series += columns != columns_of_.end() ? columns->second : 1;
  }
  return series;
}

size_t Dictionary::instances() const {
  absl::MutexLock lock(&mutex_);
  return instances_.size();
}

absl::StatusOr<std::shared_ptr<const CollectedQuery>> Dictionary::FindQuery(
    uint32_t id) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(EnsureQuery(id));
  return queries_[id];
}

absl::Status Dictionary::FindInstances(
    absl::Span<const uint32_t> ids,
    std::vector<std::shared_ptr<const Instance>>* instances) {
  instances->clear();
  instances->reserve(ids.size());
  absl::MutexLock lock(&mutex_);
  // With thousands of agents, none of the entries is in a cache. Prefetching
  // overlaps the cache misses.
  for (const uint32_t id : ids) instances_.prefetch(id);
  for (const uint32_t id : ids) {
    const auto found = instances_.find(id);
    if (found == instances_.end()) continue;
    // Prefetches the reference count, which precedes the instance.
    const auto* instance = reinterpret_cast<const char*>(found->second.get());
    __builtin_prefetch(instance - sizeof(uint64_t), 1);
  }
  for (const uint32_t id : ids) {
    auto found = instances_.find(id);
    if (found == instances_.end()) {
      RETURN_IF_ERROR(EnsureInstance(id));
      found = instances_.find(id);
    }
    instances->push_back(found->second);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Dictionary::FindMachine(uint32_t id) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(EnsureMachine(id));
  return machines_[id];
}

absl::StatusOr<std::shared_ptr<const Schema>> Dictionary::FindCounterset(
    uint32_t id) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(EnsureCounterset(id));
  return countersets_[id];
}

template <typename Definition>
absl::StatusOr<Definition> Dictionary::Read(Kind kind, absl::string_view name,
                                            uint32_t id) const {
  if (reader_ == nullptr) return NotDefined(name, id);
  const auto bytes = reader_->ReadDefinition(kind, id);
  if (absl::IsNotFound(bytes.status())) return NotDefined(name, id);
  RETURN_IF_ERROR(bytes.status());
  Definition definition;
  // A definition with another id would not be found.
  if (!definition.ParseFromString(*bytes) || definition.id() != id) {
    return absl::DataLossError(
        absl::StrCat("the definition of ", name, " ", id, " is damaged"));
  }
  return definition;
}

absl::Status Dictionary::EnsureMachine(uint32_t id) {
  if (machines_.contains(id)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto definition,
                   Read<v1::MachineDefinition>(Kind::kMachine, "machine", id));
  return AddMachine(definition);
}

absl::Status Dictionary::EnsureCounterset(uint32_t id) {
  if (countersets_.contains(id)) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const auto definition,
      Read<v1::CountersetDefinition>(Kind::kCounterset, "counterset", id));
  return AddCounterset(definition);
}

absl::Status Dictionary::EnsureQuery(uint32_t id) {
  if (queries_.contains(id)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto definition,
                   Read<v1::QueryDefinition>(Kind::kQuery, "query", id));
  return AddQuery(definition);
}

absl::Status Dictionary::EnsureInstance(uint32_t id) {
  if (instances_.contains(id)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto definition, Read<v1::InstanceDefinition>(
                                              Kind::kInstance, "instance", id));
  return AddInstance(definition);
}

}  // namespace fleetperf::aggregator
