#include "aggregator/store/tables/definition_table.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

using Kind = DefinitionReader::Kind;

// Maximum number of cached dictionaries. Beyond it, the cache is cleared.
constexpr size_t kMaxDictionaries = 4096;
// A cached dictionary with more instances, which come and go, is read again.
constexpr size_t kMaxInstances = 200'000;

// Definitions of a kind that are deleted one by one.
constexpr size_t kMaxSingleDeletions = 1000;

// A kind besides those of DefinitionReader.
constexpr uint8_t kAgent = 5;
constexpr auto kFirstKind = static_cast<uint8_t>(Kind::kMachine);
constexpr uint8_t kLastKind = kAgent;

// Reads definitions that are not in memory.
class Reader : public DefinitionReader {
 public:
  Reader(const Database* database, uint32_t epoch_number,
         std::shared_ptr<const void> use)
      : database_(*database),
        epoch_number_(epoch_number),
        use_(std::move(use)) {}

  absl::StatusOr<std::string> ReadDefinition(Kind kind,
                                             uint32_t id) const override {
    auto value = database_.Get(
        Family::kDefault,
        DefinitionKey(static_cast<uint8_t>(kind), epoch_number_, id));
    if (kind != Kind::kCounterset || !value.ok()) return value;
    // Registrations are shared by all epochs. The definition has only the hash.
    ASSIGN_OR_RETURN(const std::string registration,
                     database_.Get(Family::kDefault, SchemaKey(*value)));
    v1::CountersetDefinition definition;
    definition.set_id(id);
    if (!definition.mutable_registration()->ParseFromString(registration)) {
      return absl::DataLossError("a registration in the store is damaged");
    }
    return definition.SerializeAsString();
  }

  absl::StatusOr<uint32_t> LastId(Kind kind) const override {
    const PrefixIterator entry = database_.IteratePrefix(
        Family::kDefault,
        DefinitionPrefix(static_cast<uint8_t>(kind), epoch_number_));
    uint32_t number = 0;
    uint32_t id = 0;
    for (entry->SeekToLast(); entry->Valid(); entry->Prev()) {
      if (ParseDefinitionKey(ToView(entry->key()), &number, &id)) return id;
    }
    RETURN_IF_ERROR(FromRocksDb(entry->status(), "read definitions"));
    return uint32_t{0};
  }

 private:
  const Database& database_;
  const uint32_t epoch_number_;
  const std::shared_ptr<const void> use_;
};

std::string KeyOf(Kind kind, uint32_t epoch_number, uint32_t id) {
  return DefinitionKey(static_cast<uint8_t>(kind), epoch_number, id);
}

}  // namespace

void DefinitionTable::Put(uint32_t epoch_number,
                          const v1::Definitions& definitions,
                          Changes* changes) {
  const auto put = [&](Kind kind, uint32_t id, const std::string& value) {
    changes->Put(Family::kDefault, KeyOf(kind, epoch_number, id), value);
  };
  for (const auto& machine : definitions.machines()) {
    put(Kind::kMachine, machine.id(), machine.SerializeAsString());
  }
  for (const auto& counterset : definitions.countersets()) {
    const auto registration = FromProto(counterset.registration());
    if (!registration.ok()) continue;  // the batch was rejected because of it
    const std::string hash = Sha256(registration->CanonicalBytes());
    changes->Put(Family::kDefault, SchemaKey(hash),
                 counterset.registration().SerializeAsString());
    put(Kind::kCounterset, counterset.id(), hash);
  }
  for (const auto& query : definitions.queries()) {
    put(Kind::kQuery, query.id(), query.SerializeAsString());
  }
  for (const auto& instance : definitions.instances()) {
    put(Kind::kInstance, instance.id(), instance.SerializeAsString());
  }
}

void DefinitionTable::DeleteInstance(uint32_t epoch_number, uint32_t instance,
                                     Changes* changes) {
  changes->Delete(Family::kDefault,
                  KeyOf(Kind::kInstance, epoch_number, instance));
}

void DefinitionTable::RetireInstance(uint32_t epoch_number, uint32_t instance) {
  absl::MutexLock lock(&mutex_);
  const auto found = dictionaries_.find(epoch_number);
  if (found != dictionaries_.end()) found->second->Retire(instance);
}

void DefinitionTable::PutAgent(uint32_t epoch_number, absl::string_view agent,
                               Changes* changes) {
  changes->Put(Family::kDefault, DefinitionKey(kAgent, epoch_number, 0), agent);
}

absl::StatusOr<std::string> DefinitionTable::GetAgent(
    uint32_t epoch_number) const {
  return database_.Get(Family::kDefault,
                       DefinitionKey(kAgent, epoch_number, 0));
}

absl::StatusOr<uint32_t> DefinitionTable::LastEpoch() const {
  uint32_t last = 0;
  for (uint8_t kind = kFirstKind; kind <= kLastKind; ++kind) {
    const PrefixIterator entry =
        database_.IteratePrefix(Family::kDefault, DefinitionPrefix(kind));
    uint32_t number = 0;
    uint32_t id = 0;
    for (entry->SeekToLast(); entry->Valid(); entry->Prev()) {
      if (ParseDefinitionKey(ToView(entry->key()), &number, &id)) break;
    }
    RETURN_IF_ERROR(FromRocksDb(entry->status(), "read definitions"));
    last = std::max(last, number);
  }
  return last;
}

absl::StatusOr<bool> DefinitionTable::HasDefinitions(
    uint32_t epoch_number) const {
  // All other definitions are useless without a machine.
  const PrefixIterator entry = database_.IteratePrefix(
      Family::kDefault,
      DefinitionPrefix(static_cast<uint8_t>(Kind::kMachine), epoch_number));
  entry->SeekToFirst();
  RETURN_IF_ERROR(FromRocksDb(entry->status(), "read definitions"));
  return entry->Valid();
}

uint64_t DefinitionTable::SizeOf(uint32_t epoch_number) const {
  uint64_t size = 0;
  for (uint8_t kind = kFirstKind; kind <= kLastKind; ++kind) {
    const std::string prefix = DefinitionPrefix(kind, epoch_number);
    size += database_.ApproximateSize(Family::kDefault, prefix,
                                      EndOfPrefix(prefix));
  }
  return size;
}

// Deletes a few keys one by one, and the rest as a range: a search would scan
// many deleted keys, and many ranges would slow down all reads.
absl::Status DefinitionTable::Delete(uint32_t epoch_number,
                                     Changes* changes) const {
  for (uint8_t kind = kFirstKind; kind <= kLastKind; ++kind) {
    const std::string prefix = DefinitionPrefix(kind, epoch_number);
    const PrefixIterator entry =
        database_.IteratePrefix(Family::kDefault, prefix);
    entry->SeekToFirst();
    for (size_t i = 0; i < kMaxSingleDeletions && entry->Valid(); ++i) {
      changes->Delete(Family::kDefault, ToView(entry->key()));
      entry->Next();
    }
    if (entry->Valid()) {
      changes->DeleteRange(Family::kDefault, ToView(entry->key()),
                           EndOfPrefix(prefix));
    }
    RETURN_IF_ERROR(FromRocksDb(entry->status(), "read definitions"));
  }
  return absl::OkStatus();
}

void DefinitionTable::Forget(uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  dictionaries_.erase(epoch_number);
}

std::unique_ptr<Dictionary> DefinitionTable::MakeDictionary(
    uint32_t epoch_number, const Dictionary::Limits& limits,
    std::shared_ptr<const void> use) const {
  return std::make_unique<Dictionary>(
      epoch_number, &schemas_,
      std::make_unique<Reader>(&database_, epoch_number, std::move(use)),
      limits);
}

std::shared_ptr<Dictionary> DefinitionTable::ReadDictionary(
    uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  if (dictionaries_.size() >= kMaxDictionaries) dictionaries_.clear();
  std::shared_ptr<Dictionary>& dictionary = dictionaries_[epoch_number];
  if (dictionary == nullptr || dictionary->instances() > kMaxInstances) {
    // Batches in the log were within the limits when they were received.
    dictionary = MakeDictionary(
        epoch_number, {.max_machines = std::numeric_limits<size_t>::max(),
                       .max_instances = std::numeric_limits<size_t>::max()});
  }
  return dictionary;
}

absl::Status DefinitionTable::ForEachQuery(
    uint32_t epoch_number, absl::FunctionRef<void(const CollectedQuery&)> use,
    OnDamage on_damage) const {
  std::vector<uint32_t> ids;
  RETURN_IF_ERROR(database_.ForEach(
      Family::kDefault,
      DefinitionPrefix(static_cast<uint8_t>(Kind::kQuery), epoch_number),
      [&](absl::string_view key, absl::string_view) {
        uint32_t epoch = 0;
        uint32_t id = 0;
        if (!ParseDefinitionKey(key, &epoch, &id)) {
          return on_damage(DamagedRecord(key));
        }
        ids.push_back(id);
      }));
  const auto dictionary = MakeDictionary(epoch_number, {});
  for (const uint32_t id : ids) {
    const auto query = dictionary->FindQuery(id);
    // All other errors concern definitions whose batch was rejected.
    if (absl::IsUnavailable(query.status())) return query.status();
    if (absl::IsDataLoss(query.status())) on_damage(query.status());
    if (query.ok()) use(**query);
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
