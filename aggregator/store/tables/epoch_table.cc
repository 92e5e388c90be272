#include "aggregator/store/tables/epoch_table.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/export_table.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Epochs handled at a time.
constexpr size_t kMaxEpochs = 1000;
// Records examined at a time. There may be a million of them, none is urgent,
// and the disk is shared with other work.
constexpr size_t kMaxRecords = 100;

}  // namespace

absl::Status EpochTable::Load(OnDamage on_damage) {
  absl::MutexLock lock(&mutex_);
  for (const uint32_t number : log_.Epochs()) uses_.try_emplace(number);
  ASSIGN_OR_RETURN(last_number_, FindLastNumber(on_damage));
  if (last_number_ == 0) return absl::OkStatus();
  const auto record = database_.Get(Family::kDefault, DurableKey(last_number_));
  if (!absl::IsNotFound(record.status())) return absl::OkStatus();
  // The record lets the next start find the number. If the write fails, that
  // start searches for the number again.
  Changes changes(&database_);
  PutDurable(last_number_, 0, 0, &changes);
  database_.Write(&changes, Database::Durability::kProcess).IgnoreError();
  return absl::OkStatus();
}

// A record can be lost with the write-ahead log while other files still refer
// to the number. Assigning the number again would mix the samples of two
// agents.
absl::StatusOr<uint32_t> EpochTable::FindLastNumber(OnDamage on_damage) const {
  uint32_t last = 0;
  const std::string prefix = DurableKey(0).substr(0, 1);
  const PrefixIterator entry =
      database_.IteratePrefix(Family::kDefault, prefix);
  for (entry->SeekForPrev(DurableKey(std::numeric_limits<uint32_t>::max()));
       entry->Valid(); entry->Prev()) {
    const absl::string_view key = ToView(entry->key());
    uint32_t number = 0;
    if (ParseDurableKey(key, &number)) {
      last = number;
      break;
    }
    on_damage(DamagedRecord(key));
  }
  RETURN_IF_ERROR(FromRocksDb(entry->status(), "read its epochs"));
  const auto last_defined = definitions_.LastEpoch();
  if (last_defined.ok()) {
    last = std::max(last, *last_defined);
  } else if (absl::IsDataLoss(last_defined.status())) {
    on_damage(last_defined.status());
  } else {
    return last_defined.status();
  }
  const std::vector<uint32_t> logged = log_.Epochs();
  return logged.empty() ? last : std::max(last, logged.back());
}

absl::StatusOr<StoredEpoch> EpochTable::Open(const std::string& agent,
                                             uint64_t epoch,
                                             const Dictionary::Limits& limits) {
  absl::MutexLock lock(&mutex_);
  const std::string key = EpochKey(agent, epoch);
  const auto record = database_.Get(Family::kDefault, key);
  if (!record.ok() && !absl::IsNotFound(record.status())) {
    // If the epoch were taken for a new one, its batches would be stored twice.
    return record.status();
  }
  ASSIGN_OR_RETURN(StoredEpoch stored,
                   record.ok() ? Read(key, *record) : Make(agent, key));
  if (record.ok()) KeepAgent(agent, stored.number);
  Use& use = uses_[stored.number];
  std::shared_ptr<const void> dictionary = use.dictionary.lock();
  if (dictionary == nullptr) dictionary = std::make_shared<char>();
  use = {.dictionary = dictionary};
  stored.dictionary =
      definitions_.MakeDictionary(stored.number, limits, std::move(dictionary));
  return stored;
}

absl::StatusOr<StoredEpoch> EpochTable::Read(absl::string_view key,
                                             absl::string_view record) const {
  StoredEpoch epoch;
  if (!GetBigEndian(&record, &epoch.number) || !record.empty()) {
    return DamagedRecord(key);
  }
  const std::string durable_key = DurableKey(epoch.number);
  const auto durable = database_.Get(Family::kDefault, durable_key);
  if (absl::IsNotFound(durable.status())) return DamagedRecord(durable_key);
  RETURN_IF_ERROR(durable.status());
  absl::string_view rest = *durable;
  if (!GetBigEndian(&rest, &epoch.durable_sequence) ||
      !GetBigEndian(&rest, &epoch.durable_fingerprint) || !rest.empty()) {
    return DamagedRecord(durable_key);
  }
  ASSIGN_OR_RETURN(const bool has_definitions,
                   definitions_.HasDefinitions(epoch.number));
  epoch.lacks_definitions = epoch.durable_sequence > 0 && !has_definitions;
  return epoch;
}

absl::StatusOr<StoredEpoch> EpochTable::Make(const std::string& agent,
                                             const std::string& key) {
  if (last_number_ == std::numeric_limits<uint32_t>::max()) {
    return absl::ResourceExhaustedError(
        "the store has no number left for a new epoch");
  }
  StoredEpoch epoch{.number = ++last_number_, .is_new = true};
  Changes changes(&database_);
  changes.Put(Family::kDefault, key, BigEndian(epoch.number));
  PutDurable(epoch.number, 0, 0, &changes);
  DefinitionTable::PutAgent(epoch.number, agent, &changes);
  RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kProcess));
  return epoch;
}

std::map<uint32_t, uint64_t> EpochTable::EpochsOf(
    const std::string& agent) const {
  std::map<uint32_t, uint64_t> epochs;
  std::string prefix = EpochKey(agent, 0);
  prefix.resize(prefix.size() - sizeof(uint64_t));
  // Readers take an epoch that is missing for one that no other store has.
  database_
      .ForEach(Family::kDefault, prefix,
               [&](absl::string_view key, absl::string_view record) {
                 key.remove_prefix(prefix.size());
                 uint64_t epoch = 0;
                 uint32_t number = 0;
                 if (GetBigEndian(&key, &epoch) && key.empty() &&
                     GetBigEndian(&record, &number)) {
                   epochs[number] = epoch;
                 }
               })
      .IgnoreError();
  return epochs;
}

void EpochTable::PutDurable(uint32_t epoch_number, uint64_t sequence,
                            uint64_t fingerprint, Changes* changes) {
  changes->Put(Family::kDefault, DurableKey(epoch_number),
               absl::StrCat(BigEndian(sequence), BigEndian(fingerprint)));
}

// The agent's name is missing for epochs that came back. If the write fails, a
// start searches all epochs for it.
void EpochTable::KeepAgent(const std::string& agent, uint32_t epoch_number) {
  if (definitions_.GetAgent(epoch_number).ok()) return;
  Changes changes(&database_);
  DefinitionTable::PutAgent(epoch_number, agent, &changes);
  database_.Write(&changes, Database::Durability::kProcess).IgnoreError();
}

absl::Status EpochTable::ForEachAgentInLog(
    absl::FunctionRef<void(uint32_t, const std::string&)> use,
    OnDamage on_damage) const {
  absl::flat_hash_set<uint32_t> unknown;
  for (const uint32_t number : log_.Epochs()) {
    const auto agent = definitions_.GetAgent(number);
    if (agent.ok()) {
      use(number, *agent);
    } else if (absl::IsNotFound(agent.status())) {
      unknown.insert(number);
    } else {
      return agent.status();
    }
  }
  if (unknown.empty()) return absl::OkStatus();
  // See KeepAgent.
  return database_.ForEach(
      Family::kDefault, EpochPrefix(),
      [&](absl::string_view key, absl::string_view value) {
        std::string agent;
        uint32_t number = 0;
        if (!ParseEpochKey(key, &agent) || !GetBigEndian(&value, &number)) {
          return on_damage(DamagedRecord(key));
        }
        if (unknown.contains(number)) use(number, agent);
      });
}

std::map<std::string, uint64_t> EpochTable::SizesOfDefinitions() const {
  std::vector<uint32_t> numbers;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [number, use] : uses_) numbers.push_back(number);
  }
  std::map<std::string, uint64_t> sizes;
  for (const uint32_t number : numbers) {
    const auto agent = definitions_.GetAgent(number);
    if (agent.ok()) sizes[*agent] += definitions_.SizeOf(number);
  }
  return sizes;
}

// Every committer to an epoch holds its dictionary. Once the dictionary is
// released, the log's index is complete for the epoch.
bool EpochTable::IsInUse(uint32_t epoch_number, const Use& use) const {
  return !use.dictionary.expired() || log_.HasBatches(epoch_number);
}

absl::StatusOr<bool> EpochTable::RemoveEnded(
    absl::FunctionRef<absl::Status()> secure_moved) {
  RETURN_IF_ERROR(SearchDefinitions());
  RETURN_IF_ERROR(SearchRecords());
  const std::vector<uint32_t> ended = TakeEnded();
  if (!ended.empty()) {
    const absl::Status secured = secure_moved();
    // Definitions only take space. If the disk is full, they stay.
    if (absl::IsResourceExhausted(secured)) return !definitions_search_.done;
    RETURN_IF_ERROR(secured);
  }
  for (const uint32_t number : ended) {
    const absl::Status removed = RemoveDefinitions(number);
    if (!absl::IsDataLoss(removed)) RETURN_IF_ERROR(removed);
    if (!removed.ok()) ForgetDamaged(number, removed);
  }
  return !definitions_search_.done || ended.size() >= kMaxEpochs;
}

absl::Status EpochTable::SearchDefinitions() {
  if (definitions_search_.done) return absl::OkStatus();
  std::string& next = definitions_search_.next;
  const std::string prefix = DefinitionPrefix(0).substr(0, 1);
  if (next.empty()) next = prefix;
  const PrefixIterator entry =
      database_.IteratePrefix(Family::kDefault, prefix);
  entry->Seek(next);
  for (size_t found = 0; found < kMaxEpochs; ++found) {
    if (!entry->Valid()) {
      definitions_search_.done = true;
      break;
    }
    const absl::string_view key = ToView(entry->key());
    uint32_t number = 0;
    uint32_t id = 0;
    if (ParseDefinitionKey(key, &number, &id)) {
      {
        absl::MutexLock lock(&mutex_);
        uses_.try_emplace(number);
      }
      // Continues with the next epoch of the same kind, or with the next kind.
      const auto kind = static_cast<uint8_t>(key[prefix.size()]);
      next = EndOfPrefix(DefinitionPrefix(kind, number));
    } else {
      LogDamage(DamagedRecord(key));
      next = absl::StrCat(key, absl::string_view("\0", 1));
    }
    entry->Seek(next);
  }
  return EndSearch(entry->status(), &definitions_search_);
}

absl::Status EpochTable::SearchRecords() {
  if (records_search_.done) return absl::OkStatus();
  std::string& next = records_search_.next;
  const std::string prefix = DurableKey(0).substr(0, 1);
  if (next.empty()) next = prefix;
  const PrefixIterator entry =
      database_.IteratePrefix(Family::kDefault, prefix);
  entry->Seek(next);
  for (size_t found = 0; found < kMaxRecords; ++found, entry->Next()) {
    if (!entry->Valid()) {
      records_search_.done = true;
      break;
    }
    const absl::string_view key = ToView(entry->key());
    next = absl::StrCat(key, absl::string_view("\0", 1));
    uint32_t number = 0;
    if (!ParseDurableKey(key, &number)) continue;
    ASSIGN_OR_RETURN(const bool has_fingerprints, HasFingerprints(number));
    if (!has_fingerprints) NoteRemoved({number});
  }
  return EndSearch(entry->status(), &records_search_);
}

// Epochs beyond the damage are not found by this process.
absl::Status EpochTable::EndSearch(const rocksdb::Status& read,
                                   Search* search) {
  const absl::Status status =
      FromRocksDb(read, "look for epochs that have ended");
  if (!absl::IsDataLoss(status)) {
    if (!status.ok()) search->done = false;
    return status;
  }
  LogDamage(status);
  search->done = true;
  return absl::OkStatus();
}

std::vector<uint32_t> EpochTable::TakeEnded() {
  std::vector<uint32_t> ended;
  const uint64_t now = database_.LastChange();
  // Open snapshots may still read batches that were in the log.
  const uint64_t oldest_read = database_.OldestSnapshot();
  absl::MutexLock lock(&mutex_);
  for (auto& [number, use] : uses_) {
    if (ended.size() >= kMaxEpochs) break;
    if (IsInUse(number, use)) continue;
    if (!use.ended.has_value()) use.ended = now;
    if (*use.ended <= oldest_read) ended.push_back(number);
  }
  return ended;
}

absl::Status EpochTable::RemoveDefinitions(uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  const auto use = uses_.find(epoch_number);
  if (use == uses_.end() || IsInUse(epoch_number, use->second)) {
    return absl::OkStatus();  // the epoch has come back
  }
  Changes changes(&database_);
  RETURN_IF_ERROR(definitions_.Delete(epoch_number, &changes));
  if (changes.size() > 0) {
    RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kProcess));
  }
  definitions_.Forget(epoch_number);
  log_.RemoveMachines(epoch_number);
  uses_.erase(use);
  // The epoch never had a batch, or all of its batches were removed.
  ASSIGN_OR_RETURN(const bool has_fingerprints, HasFingerprints(epoch_number));
  if (!has_fingerprints) empty_.insert(epoch_number);
  return absl::OkStatus();
}

// Damaged definitions are left unchanged.
void EpochTable::ForgetDamaged(uint32_t epoch_number,
                               const absl::Status& damage) {
  LogDamage(damage);
  absl::MutexLock lock(&mutex_);
  const auto use = uses_.find(epoch_number);
  if (use == uses_.end() || IsInUse(epoch_number, use->second)) return;
  log_.RemoveMachines(epoch_number);
  uses_.erase(use);
}

absl::StatusOr<bool> EpochTable::HasFingerprints(uint32_t epoch_number) const {
  const PrefixIterator entry = database_.IteratePrefix(
      Family::kDefault, FingerprintsPrefix(epoch_number));
  entry->SeekToFirst();
  const absl::Status status = FromRocksDb(entry->status(), "read fingerprints");
  if (absl::IsDataLoss(status)) return true;  // there may be fingerprints
  RETURN_IF_ERROR(status);
  return entry->Valid();
}

void EpochTable::NoteRemoved(const std::vector<uint32_t>& epoch_numbers) {
  absl::MutexLock lock(&mutex_);
  empty_.insert(epoch_numbers.begin(), epoch_numbers.end());
}

// The record of the last number remains, so that no number is assigned twice.
absl::StatusOr<bool> EpochTable::CanRemoveRecord(uint32_t epoch_number) {
  const auto use = uses_.find(epoch_number);
  if (use != uses_.end() || epoch_number == last_number_) return false;
  if (log_.HasBatches(epoch_number)) return false;
  ASSIGN_OR_RETURN(const bool has_fingerprints, HasFingerprints(epoch_number));
  return !has_fingerprints;
}

absl::Status EpochTable::FindRemovable(absl::flat_hash_set<uint32_t>* numbers) {
  std::vector<uint32_t> empty;
  {
    absl::MutexLock lock(&mutex_);
    empty.assign(empty_.begin(), empty_.end());
  }
  for (const uint32_t number : empty) {
    absl::MutexLock lock(&mutex_);
    ASSIGN_OR_RETURN(const bool removable, CanRemoveRecord(number));
    if (removable) {
      numbers->insert(number);
    } else if (number != last_number_) {
      empty_.erase(number);  // will be noted again
    }
  }
  return absl::OkStatus();
}

absl::Status EpochTable::RemoveRecords() {
  absl::flat_hash_set<uint32_t> removable;
  RETURN_IF_ERROR(FindRemovable(&removable));
  if (removable.empty()) return absl::OkStatus();
  // Record keys by epoch number. The key is empty if only the durable sequence
  // is left.
  std::map<uint32_t, std::string> keys;
  for (const uint32_t number : removable) keys[number];
  RETURN_IF_ERROR(
      database_.ForEach(Family::kDefault, EpochPrefix(),
                        [&](absl::string_view key, absl::string_view value) {
                          uint32_t number = 0;
                          if (!GetBigEndian(&value, &number)) return;
                          if (!removable.contains(number)) return;
                          keys[number] = std::string(key);
                        }));
  for (auto next = keys.begin(); next != keys.end();) {
    absl::MutexLock lock(&mutex_);
    Changes changes(&database_);
    for (; next != keys.end() && changes.size() < kMaxEpochs; ++next) {
      const auto& [number, key] = *next;
      ASSIGN_OR_RETURN(const bool still, CanRemoveRecord(number));
      if (!still) continue;  // the epoch has come back
      if (!key.empty()) changes.Delete(Family::kDefault, key);
      changes.Delete(Family::kDefault, DurableKey(number));
      RETURN_IF_ERROR(ExportTable::RemoveEpoch(database_, number, &changes));
    }
    RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kProcess));
  }
  absl::MutexLock lock(&mutex_);
  for (const uint32_t number : removable) empty_.erase(number);
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
