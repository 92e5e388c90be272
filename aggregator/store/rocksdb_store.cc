// The embedded store: a log of batches as they came, chunks that are made of
// them, and what gives them meaning.

#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/store/backup.h"
#include "aggregator/store/compactor.h"
#include "aggregator/store/database.h"
#include "aggregator/store/definition_table.h"
#include "aggregator/store/key_numbers.h"
#include "aggregator/store/keys.h"
#include "aggregator/store/log.h"
#include "aggregator/store/lost_ticks_table.h"
#include "aggregator/store/room.h"
#include "aggregator/store/sample_reader.h"
#include "aggregator/store/store.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kStoreIdSize = 16;
constexpr size_t kHashSize = 32;
// Queries that need not be entered in the directory again.
constexpr size_t kMaxKnownQueries = 1'000'000;

std::string EncodeDurable(uint64_t sequence, uint64_t fingerprint) {
  return absl::StrCat(BigEndian(sequence), BigEndian(fingerprint));
}

void LogDamage(const absl::Status& damage) {
  spdlog::error("left out: {}", std::string(damage.message()));
}

class RocksDbStore : public Store {
 public:
  static absl::StatusOr<std::unique_ptr<Store>> Open(
      const std::string& directory) {
    ASSIGN_OR_RETURN(auto database, Database::Open(directory));
    std::unique_ptr<RocksDbStore> store(
        new RocksDbStore(directory, std::move(database)));
    RETURN_IF_ERROR(store->LoadId());
    RETURN_IF_ERROR(store->LoadEpochs());
    RETURN_IF_ERROR(store->LoadMachines());
    RETURN_IF_ERROR(store->lost_ticks_.Load(*store->database_));
    RETURN_IF_ERROR(store->numbers_.Load(LogDamage));
    RETURN_IF_ERROR(store->compactor_.Load(&store->directory_, LogDamage));
    RETURN_IF_ERROR(store->LoadLog());
    return store;
  }

  const std::string& id() const override { return id_; }
  const Directory& directory() const override { return directory_; }

  absl::StatusOr<StoredEpoch> OpenEpoch(
      const std::string& agent, uint64_t epoch,
      const Dictionary::Limits& limits) override {
    absl::MutexLock lock(&epoch_mutex_);
    const std::string key = EpochKey(agent, epoch);
    StoredEpoch stored;
    const auto number = database_->Get(Family::kDefault, key);
    if (number.ok()) {
      RETURN_IF_ERROR(ReadEpoch(key, *number, &stored));
    } else if (!absl::IsNotFound(number.status())) {
      return number.status();  // taken for new, it would be stored twice
    } else if (last_epoch_number_ == std::numeric_limits<uint32_t>::max()) {
      return absl::ResourceExhaustedError(
          "the store has no number left for a new epoch");
    } else {
      stored.number = ++last_epoch_number_;
      Changes changes(database_.get());
      changes.Put(Family::kDefault, key, BigEndian(stored.number));
      changes.Put(Family::kDefault, DurableKey(stored.number),
                  EncodeDurable(0, 0));
      RETURN_IF_ERROR(WriteAhead(&changes));
    }
    stored.dictionary = definitions_.MakeDictionary(stored.number, limits);
    AddMachinesOf(agent, stored.number);
    return stored;
  }

  absl::Status Commit(absl::Span<const BatchToCommit> batches) override {
    Changes changes(database_.get());
    std::vector<BatchTimes> times;
    for (const BatchToCommit& batch : batches) {
      times.push_back(Log::Put(batch, &changes));
      // Later batches of an epoch overwrite this.
      changes.Put(Family::kDefault, DurableKey(batch.epoch_number),
                  EncodeDurable(batch.sequence, batch.fingerprint));
      if (batch.definitions != nullptr) {
        DefinitionTable::Put(batch.epoch_number, *batch.definitions, &changes);
      }
    }
    LostTicksTable::Map lost = lost_ticks_.After(batches);
    LostTicksTable::Put(lost, &changes);
    RETURN_IF_ERROR(WriteDurably(&changes));
    for (size_t i = 0; i < batches.size(); ++i) Learn(batches[i], times[i]);
    lost_ticks_.Take(std::move(lost));
    return absl::OkStatus();
  }

  absl::Status CheckRoom() const override {
    return aggregator::CheckRoom(directory_path_, 0, RoomFor::kBatches);
  }

  absl::StatusOr<bool> HasBatch(uint32_t epoch_number, uint64_t sequence,
                                uint64_t fingerprint) const override {
    ASSIGN_OR_RETURN(const bool is_logged,
                     log_.Contains(epoch_number, sequence, fingerprint));
    if (is_logged) return true;
    return IsInChunk(*database_, epoch_number, sequence, fingerprint);
  }

  std::map<LossCause, uint64_t> LostTicks(
      const std::string& agent, const std::string& machine) const override {
    return lost_ticks_.Of(agent, machine);
  }

  absl::Status KeepDefinitions(uint32_t epoch_number,
                               const v1::Definitions& definitions) override {
    Changes changes(database_.get());
    DefinitionTable::Put(epoch_number, definitions, &changes);
    return WriteAhead(&changes);
  }

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    return reader_.Read(request, on_frame, on_loss);
  }

  bool HasCatalogue(absl::string_view hash) const override {
    return database_->Get(Family::kDefault, CatalogueKey(hash)).ok();
  }

  absl::Status PutCatalogue(absl::string_view hash,
                            absl::string_view content) override {
    Changes changes(database_.get());
    changes.Put(Family::kDefault, CatalogueKey(hash), content);
    return WriteAhead(&changes);
  }

  absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const override {
    auto content = database_->Get(Family::kDefault, CatalogueKey(hash));
    if (absl::IsNotFound(content.status())) {
      return absl::NotFoundError("no such catalogue");
    }
    return content;
  }

  absl::Status PutMachine(const v1::Machine& machine,
                          absl::string_view catalogue_hash) override {
    std::string hash(catalogue_hash);
    hash.resize(kHashSize);
    std::string record = absl::StrCat(hash, machine.SerializeAsString());
    absl::MutexLock lock(&machine_mutex_);
    const auto known = machines_.find(machine.name());
    if (known != machines_.end() && known->second == record) {
      return absl::OkStatus();
    }
    Changes changes(database_.get());
    changes.Put(Family::kDefault, MachineKey(machine.name()), record);
    RETURN_IF_ERROR(WriteAhead(&changes));
    machines_[machine.name()] = std::move(record);
    machines_of_agent_[machine.agent()].insert(machine.name());
    directory_.AddMachine(machine.name());
    return absl::OkStatus();
  }

  std::vector<StoredMachine> GetMachines() const override {
    std::vector<StoredMachine> machines;
    absl::MutexLock lock(&machine_mutex_);
    for (const auto& [name, record] : machines_) {
      machines.push_back(ParseMachine(name, record));
    }
    return machines;
  }

  absl::Status Backup(const std::string& directory,
                      OnCopied on_copied) override {
    if (!backup_mutex_.TryLock()) {
      return absl::FailedPreconditionError(
          "another backup is being made; try again when it is done");
    }
    const absl::Cleanup unlock = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      backup_mutex_.Unlock();
    };
    return BackupDatabase(database_.get(), directory, on_copied);
  }

  absl::StatusOr<bool> Compact(absl::Time idle_since) override {
    return compactor_.Step(idle_since);
  }

  absl::StatusOr<bool> Thin(Resolution resolution, absl::Time time) override {
    return compactor_.Thin(resolution, time);
  }

  absl::Status DropBefore(absl::Time time) override {
    return compactor_.DropBefore(time);
  }

  absl::Status DropTo(uint64_t size) override {
    return compactor_.DropTo(size);
  }

 private:
  RocksDbStore(std::string directory, std::unique_ptr<Database> database)
      : directory_path_(std::move(directory)),
        database_(std::move(database)),
        definitions_(database_.get(), &schemas_),
        log_(database_.get(), &definitions_),
        numbers_(database_.get(), &schemas_),
        compactor_({.database = database_.get(),
                    .definitions = &definitions_,
                    .log = &log_,
                    .numbers = &numbers_,
                    .layout = &layout_mutex_}),
        reader_({.database = database_.get(),
                 .log = &log_,
                 .numbers = &numbers_,
                 .layout = &layout_mutex_}) {}

  absl::Status LoadId() {
    auto id = database_->Get(Family::kDefault, StoreIdKey());
    if (id.ok()) id_ = *std::move(id);
    if (id.ok() || !absl::IsNotFound(id.status())) return id.status();
    absl::BitGen random;
    for (size_t i = 0; i < kStoreIdSize; ++i) {
      id_.push_back(static_cast<char>(absl::Uniform(random, 0, 256)));
    }
    Changes changes(database_.get());
    changes.Put(Family::kDefault, StoreIdKey(), id_);
    return WriteDurably(&changes);
  }

  absl::Status LoadEpochs() {
    absl::MutexLock lock(&epoch_mutex_);
    const std::string prefix = DurableKey(0).substr(0, 1);
    return database_->ForEach(
        Family::kDefault, prefix,
        [&](absl::string_view key, absl::string_view) {
          epoch_mutex_.AssertHeld();
          absl::string_view rest = key.substr(prefix.size());
          uint32_t number = 0;
          if (!GetBigEndian(&rest, &number) || !rest.empty()) {
            return LogDamage(DamagedRecord(key));
          }
          last_epoch_number_ = number;  // the keys are in their order
        });
  }

  // Of one that was made before.
  absl::Status ReadEpoch(absl::string_view key, absl::string_view record,
                         StoredEpoch* epoch) const {
    if (!GetBigEndian(&record, &epoch->number) || !record.empty()) {
      return DamagedRecord(key);
    }
    const std::string durable_key = DurableKey(epoch->number);
    const auto durable = database_->Get(Family::kDefault, durable_key);
    if (absl::IsNotFound(durable.status())) return DamagedRecord(durable_key);
    RETURN_IF_ERROR(durable.status());
    absl::string_view rest = *durable;
    if (!GetBigEndian(&rest, &epoch->durable_sequence) ||
        !GetBigEndian(&rest, &epoch->durable_fingerprint) || !rest.empty()) {
      return DamagedRecord(durable_key);
    }
    return absl::OkStatus();
  }

  absl::Status LoadMachines() {
    absl::MutexLock lock(&machine_mutex_);
    return database_->ForEach(
        Family::kDefault, MachineKey(""),
        [this](absl::string_view key, absl::string_view value) {
          const std::string name(key.substr(MachineKey("").size()));
          machine_mutex_.AssertHeld();
          machines_[name] = std::string(value);
          machines_of_agent_[ParseMachine(name, value).machine.agent()].insert(
              name);
          directory_.AddMachine(name);
        });
  }

  static StoredMachine ParseMachine(const std::string& name,
                                    absl::string_view record) {
    StoredMachine stored;
    stored.catalogue_hash = std::string(record.substr(0, kHashSize));
    record.remove_prefix(stored.catalogue_hash.size());
    stored.machine.ParseFromArray(record.data(),
                                  static_cast<int>(record.size()));
    stored.machine.set_name(name);
    return stored;
  }

  // What an epoch lost of all of its agent's machines is theirs also if it has
  // no samples of them: these may be what is lost.
  void AddMachinesOf(const std::string& agent, uint32_t epoch_number) {
    absl::MutexLock lock(&machine_mutex_);
    const auto machines = machines_of_agent_.find(agent);
    if (machines == machines_of_agent_.end()) return;
    for (const std::string& machine : machines->second) {
      log_.index().AddMachine(machine, epoch_number);
    }
  }

  absl::Status AddMachinesOfEpochs() {
    return database_->ForEach(
        Family::kDefault, EpochPrefix(),
        [this](absl::string_view key, absl::string_view value) {
          std::string agent;
          uint32_t number = 0;
          if (!ParseEpochKey(key, &agent) || !GetBigEndian(&value, &number)) {
            return LogDamage(DamagedRecord(key));
          }
          if (log_.index().HasBatches(number)) AddMachinesOf(agent, number);
        });
  }

  absl::Status LoadLog() {
    RETURN_IF_ERROR(log_.Load(LogDamage));
    RETURN_IF_ERROR(definitions_.ForEachQuery(
        [this](uint32_t epoch_number, const CollectedQuery& query) {
          directory_.AddQuery(query);
          log_.index().AddMachine(query.machine, epoch_number);
        },
        LogDamage));
    RETURN_IF_ERROR(AddMachinesOfEpochs());
    for (const std::string& machine : directory_.Machines()) {
      if (const auto newest = reader_.NewestLogged(machine)) {
        directory_.SetNewestSample(machine, *newest);
      }
    }
    return absl::OkStatus();
  }

  // Takes up what a batch that is durable says.
  void Learn(const BatchToCommit& batch, const BatchTimes& times) {
    // By machine; its queries have different intervals.
    std::map<std::string, absl::Time> newest;
    for (const Frame& frame : batch.decoded->frames) {
      if (known_queries_.size() > kMaxKnownQueries) known_queries_.clear();
      if (known_queries_.insert(frame.query).second) {
        directory_.AddQuery(*frame.query);
        log_.index().AddMachine(frame.query->machine, batch.epoch_number);
      }
      if (!frame.clocks->empty()) {
        const absl::Time time = perflib::TimeFromPerfTime100NSec(
            frame.clocks->back().perf_time_100nsec);
        const auto [entry, is_new] =
            newest.try_emplace(frame.query->machine, time);
        if (!is_new) entry->second = std::max(entry->second, time);
      }
    }
    for (const auto& [machine, time] : newest) {
      directory_.SetNewestSample(machine, time);
    }
    for (const Loss& loss : batch.decoded->losses) {
      if (loss.machine.empty()) continue;  // of all that are known
      log_.index().AddMachine(loss.machine, batch.epoch_number);
    }
    log_.index().Add(batch.epoch_number, batch.sequence, times);
  }

  absl::Status WriteDurably(Changes* changes) {
    return database_->Write(changes, Database::Durability::kPowerCut);
  }
  // What an agent tells of itself: durable with the first commit that follows,
  // and without one an agent tells it again. Many come at once, each of which
  // would wait for the disk.
  absl::Status WriteAhead(Changes* changes) {
    return database_->Write(changes, Database::Durability::kProcess);
  }

  const std::string directory_path_;
  const std::unique_ptr<Database> database_;
  std::string id_;
  SchemaTable schemas_;
  DefinitionTable definitions_;
  Log log_;
  KeyNumbers numbers_;
  LostTicksTable lost_ticks_;
  Directory directory_;
  // Held while batches move from the log into chunks.
  absl::Mutex layout_mutex_;
  Compactor compactor_;
  SampleReader reader_;
  // Used by Commit alone.
  absl::flat_hash_set<std::shared_ptr<const CollectedQuery>> known_queries_;

  absl::Mutex backup_mutex_;
  absl::Mutex epoch_mutex_;
  uint32_t last_epoch_number_ ABSL_GUARDED_BY(epoch_mutex_) = 0;
  mutable absl::Mutex machine_mutex_;
  // As they are stored, by name.
  std::map<std::string, std::string> machines_ ABSL_GUARDED_BY(machine_mutex_);
  std::map<std::string, std::set<std::string>> machines_of_agent_
      ABSL_GUARDED_BY(machine_mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(
    const std::string& directory) {
  return RocksDbStore::Open(directory);
}

}  // namespace fleetperf::aggregator
