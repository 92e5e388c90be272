#include "aggregator/store/definition_table.h"

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "aggregator/store/keys.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"
#include "proto/conversions.h"

namespace fleetperf::aggregator {
namespace {

using Kind = DefinitionReader::Kind;

// Dictionaries that are kept in memory; beyond it, all are read anew.
constexpr size_t kMaxDictionaries = 4096;
// One that has become larger, as instances come and go, is read anew.
constexpr size_t kMaxInstances = 200'000;

// Reads definitions that are not in memory.
class Reader : public DefinitionReader {
 public:
  Reader(const Database* database, uint32_t epoch_number)
      : database_(*database), epoch_number_(epoch_number) {}

  absl::StatusOr<std::string> ReadDefinition(Kind kind,
                                             uint32_t id) const override {
    auto value = database_.Get(
        Family::kDefault,
        DefinitionKey(static_cast<uint8_t>(kind), epoch_number_, id));
    if (kind != Kind::kCounterset || !value.ok()) return value;
    // Countersets are kept once for all epochs; here is the hash.
    ASSIGN_OR_RETURN(const std::string registration,
                     database_.Get(Family::kDefault, SchemaKey(*value)));
    v1::CountersetDefinition definition;
    definition.set_id(id);
    if (!definition.mutable_registration()->ParseFromString(registration)) {
      return absl::DataLossError("a registration in the store is damaged");
    }
    return definition.SerializeAsString();
  }

 private:
  const Database& database_;
  const uint32_t epoch_number_;
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
    if (!registration.ok()) continue;  // of a batch that was rejected for it
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

std::unique_ptr<Dictionary> DefinitionTable::MakeDictionary(
    uint32_t epoch_number, const Dictionary::Limits& limits) const {
  return std::make_unique<Dictionary>(
      epoch_number, &schemas_,
      std::make_unique<Reader>(&database_, epoch_number), limits);
}

std::shared_ptr<Dictionary> DefinitionTable::ReadDictionary(
    uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  if (dictionaries_.size() >= kMaxDictionaries) dictionaries_.clear();
  std::shared_ptr<Dictionary>& dictionary = dictionaries_[epoch_number];
  if (dictionary == nullptr || dictionary->instances() > kMaxInstances) {
    // What is in the log was within the limits when it came.
    dictionary = MakeDictionary(
        epoch_number, {.max_instances = std::numeric_limits<size_t>::max()});
  }
  return dictionary;
}

absl::Status DefinitionTable::ForEachQuery(
    const std::function<void(uint32_t, const CollectedQuery&)>& use,
    OnDamage on_damage) const {
  const std::string prefix =
      DefinitionPrefix(static_cast<uint8_t>(Kind::kQuery));
  std::map<uint32_t, std::vector<uint32_t>> ids_of_epoch;
  RETURN_IF_ERROR(database_.ForEach(
      Family::kDefault, prefix, [&](absl::string_view key, absl::string_view) {
        absl::string_view rest = key.substr(prefix.size());
        uint32_t epoch_number = 0;
        uint32_t id = 0;
        if (!GetBigEndian(&rest, &epoch_number) || !GetBigEndian(&rest, &id) ||
            !rest.empty()) {
          return on_damage(DamagedRecord(key));
        }
        ids_of_epoch[epoch_number].push_back(id);
      }));
  for (const auto& [epoch_number, ids] : ids_of_epoch) {
    const auto dictionary = MakeDictionary(epoch_number, {});
    for (const uint32_t id : ids) {
      const auto query = dictionary->FindQuery(id);
      // Other errors are of a definition whose batch was rejected for it.
      if (absl::IsUnavailable(query.status())) return query.status();
      if (absl::IsDataLoss(query.status())) on_damage(query.status());
      if (query.ok()) use(epoch_number, **query);
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
