// The embedded store: a log of batches as received, chunks made from the
// batches, and the definitions that give them meaning.

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/store/backup/backup.h"
#include "aggregator/store/backup/repair.h"
#include "aggregator/store/batch_indexer.h"
#include "aggregator/store/compaction/compactor.h"
#include "aggregator/store/export_reader.h"
#include "aggregator/store/recent/recent_batches.h"
#include "aggregator/store/sample_reader.h"
#include "aggregator/store/sample_sources.h"
#include "aggregator/store/store.h"
#include "aggregator/store/tables/commit_mark.h"
#include "aggregator/store/tables/database.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/epoch_table.h"
#include "aggregator/store/tables/export_table.h"
#include "aggregator/store/tables/fingerprints.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/log.h"
#include "aggregator/store/tables/lost_commits.h"
#include "aggregator/store/tables/lost_ticks_table.h"
#include "aggregator/store/tables/machine_table.h"
#include "aggregator/store/tables/received_index.h"
#include "aggregator/store/tables/room.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kStoreIdSize = 16;

class RocksDbStore : public Store {
 public:
  static absl::StatusOr<std::unique_ptr<Store>> Open(
      const std::string& directory, const Clock* clock,
      uint64_t max_recent_bytes) {
    auto store = OpenAndLoad(directory, clock, max_recent_bytes);
    if (!absl::IsDataLoss(store.status())) return store;
    return absl::DataLossError(
        absl::StrCat(store.status().message(), "; ", kRepairHint));
  }

  const std::string& id() const override { return id_; }
  const Directory& directory() const override { return directory_; }
  uint64_t size() const override { return database_->Size(); }
  Counts counts() const override {
    return {.recent_bytes = recent_.size(),
            .logged_batches = log_.index().CountBatches(),
            .free_bytes = FreeBytes(directory_path_)};
  }

  absl::StatusOr<StoredEpoch> OpenEpoch(
      const std::string& agent, uint64_t epoch,
      const Dictionary::Limits& limits) override {
    ASSIGN_OR_RETURN(StoredEpoch stored, epochs_.Open(agent, epoch, limits));
    if (lost_definitions_.MustAsk(stored.number)) {
      stored.lacks_definitions = true;
    }
    indexer_.AddMachinesOf(agent, stored.number);
    return stored;
  }

  std::map<uint32_t, uint64_t> EpochsOf(
      const std::string& agent) const override {
    return epochs_.EpochsOf(agent);
  }

  absl::Status Commit(absl::Span<const BatchToCommit> batches) override {
    Changes changes(database_.get());
    std::vector<BatchTimes> times;
    for (const BatchToCommit& batch : batches) {
      times.push_back(Log::Put(batch, &changes));
      // Later batches of an epoch overwrite the mark of earlier ones.
      EpochTable::PutDurable(batch.epoch_number, batch.sequence,
                             batch.fingerprint, &changes);
      if (batch.definitions != nullptr) {
        DefinitionTable::Put(batch.epoch_number, *batch.definitions, &changes);
      }
    }
    LostTicksTable::Map lost = lost_ticks_.After(batches);
    LostTicksTable::Put(lost, &changes);
    const CommitMark mark = MarkAfter(batches);
    changes.Put(Family::kDefault, CommitMarkKey(), EncodeCommitMark(mark));
    RETURN_IF_ERROR(WriteDurably(&changes));
    mark_ = mark;
    synced_.Set(mark);
    for (size_t i = 0; i < batches.size(); ++i) {
      indexer_.Add(batches[i], times[i]);
    }
    lost_ticks_.Take(std::move(lost));
    return absl::OkStatus();
  }

  absl::Status CheckRoom() const override {
    // What is in memory is written to files when the store is opened again,
    // while the log of it still takes its own space.
    return aggregator::CheckRoom(directory_path_, database_->BytesInMemory(),
                                 DiskUse::kBatches);
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
    RETURN_IF_ERROR(CheckRoom());
    Changes changes(database_.get());
    DefinitionTable::Put(epoch_number, definitions, &changes);
    // As the machines of MachineTable: agents report definitions again.
    RETURN_IF_ERROR(database_->Write(&changes, Database::Durability::kProcess));
    if (!lost_definitions_.NoteReceived(epoch_number)) return absl::OkStatus();
    // LoadLog did not find definitions of the epoch's batches in the log.
    return indexer_.AddQueries(epoch_number);
  }

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    return reader_.Read(request, on_frame, on_loss);
  }

  absl::Status KeepExportCursors(bool keep) override {
    return exports_.Keep(keep);
  }

  absl::Status ReadUnexported(const UnexportedRequest& request,
                              UnexportedSink* sink) override {
    return export_reader_.Read(request, sink);
  }

  absl::Status SetExported(absl::Span<const ExportProgress> progress) override {
    return exports_.Set(progress);
  }

  bool HasCatalogue(absl::string_view hash) const override {
    return machines_.HasCatalogue(hash);
  }

  absl::Status PutCatalogue(absl::string_view hash,
                            absl::string_view content) override {
    RETURN_IF_ERROR(CheckRoom());
    return machines_.PutCatalogue(hash, content);
  }

  absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const override {
    return machines_.GetCatalogue(hash);
  }

  absl::Status PutMachine(const StoredMachine& machine) override {
    return machines_.Put(machine);
  }

  absl::Status ForgetMachines(const std::set<std::string>& names) override {
    return machines_.Forget(names);
  }

  void SetLabelRules(LabelRules rules) override {
    directory_.SetLabelRules(std::move(rules));
  }

  void SetLabelsListener(Directory::LabelsListener listener) override {
    directory_.SetLabelsListener(std::move(listener));
  }

  std::vector<StoredMachine> GetMachines() const override {
    return machines_.Get("", SIZE_MAX);
  }

  std::vector<StoredMachine> GetMachines(const std::string& after,
                                         size_t max) const override {
    return machines_.Get(after, max);
  }

  std::optional<StoredMachine> FindMachine(
      const std::string& name) const override {
    return machines_.Find(name);
  }

  std::optional<absl::Time> KnownTime() const override {
    absl::Time time = absl::InfinitePast();
    const auto known = database_->Get(Family::kDefault, KnownTimeKey());
    if (known.ok()) {
      absl::string_view rest = *known;
      if (GetTime(&rest, &time) && rest.empty()) return time;
      LogDamage(DamagedRecord(KnownTimeKey()));
    }
    time = std::max(log_.index().NewestReceived(), NewestReceived(*database_));
    if (time == absl::InfinitePast()) return std::nullopt;
    return time;
  }

  absl::Status PutKnownTime(absl::Time time) override {
    Changes changes(database_.get());
    changes.Put(Family::kDefault, KnownTimeKey(), EncodeTime(time));
    return database_->Write(&changes, Database::Durability::kProcess);
  }

  absl::Status Backup(const std::string& directory,
                      OnCopied on_copied) override {
    if (!backup_mutex_.TryLock()) {
      return absl::FailedPreconditionError(
          "another backup is in progress; try again when it is done");
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
    recent_.RemoveReceivedBefore(time);
    return compactor_.DropBefore(time);
  }

  absl::Status DropTo(uint64_t size) override {
    // What is removed may be in memory, too.
    if (database_->Size() > size) {
      recent_.RemoveReceivedBefore(absl::InfiniteFuture());
    }
    return compactor_.DropTo(size);
  }

 private:
  static absl::StatusOr<std::unique_ptr<Store>> OpenAndLoad(
      const std::string& directory, const Clock* clock,
      uint64_t max_recent_bytes) {
    ASSIGN_OR_RETURN(auto database, Database::Open(directory));
    std::unique_ptr<RocksDbStore> store(new RocksDbStore(
        directory, std::move(database), clock, max_recent_bytes));
    const absl::Status loaded = store->Load();
    if (!loaded.ok()) {
      return absl::Status(loaded.code(),
                          absl::StrCat("cannot read the store in ", directory,
                                       ": ", loaded.message()));
    }
    return store;
  }

  RocksDbStore(std::string directory, std::unique_ptr<Database> database,
               const Clock* clock, uint64_t max_recent_bytes)
      : directory_path_(std::move(directory)),
        database_(std::move(database)),
        synced_(directory_path_),
        definitions_(database_.get(), &schemas_),
        log_(database_.get(), &definitions_),
        epochs_(database_.get(), &definitions_, &log_.index()),
        numbers_(database_.get(), &schemas_),
        lost_definitions_(database_.get(), clock),
        exports_(database_.get()),
        recent_(max_recent_bytes),
        machines_(database_.get(), &directory_),
        indexer_({.definitions = &definitions_,
                  .machines = &machines_,
                  .directory = &directory_,
                  .log = &log_.index(),
                  .recent = &recent_,
                  .clock = clock}),
        compactor_({.database = database_.get(),
                    .definitions = &definitions_,
                    .log = &log_,
                    .epochs = &epochs_,
                    .numbers = &numbers_,
                    .lost_definitions = &lost_definitions_,
                    .exports = &exports_,
                    .directory = &directory_,
                    .layout = &layout_mutex_,
                    .clock = clock}),
        sources_({.database = database_.get(),
                  .log = &log_,
                  .numbers = &numbers_,
                  .recent = &recent_,
                  .layout = &layout_mutex_}),
        reader_(sources_),
        export_reader_({.sources = sources_,
                        .exports = &exports_,
                        .lost_definitions = &lost_definitions_}) {}

  absl::Status Load() {
    RETURN_IF_ERROR(LoadId());
    // Only the process that repairs the write-ahead log knows about the loss.
    RETURN_IF_ERROR(ReportLostCommits());
    RETURN_IF_ERROR(lost_ticks_.Load(*database_, LogDamage));
    RETURN_IF_ERROR(machines_.Load());
    RETURN_IF_ERROR(numbers_.Load(LogDamage));
    RETURN_IF_ERROR(compactor_.Load(&directory_, LogDamage));
    return LoadLog();
  }

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
    RETURN_IF_ERROR(WriteDurably(&changes));
    // The id must outlive the write-ahead log. Agents take a store without it
    // for a different store.
    return database_->Compact(Family::kDefault);
  }

  // Reports commits missing from the write-ahead log to operators, and records
  // them as gaps.
  absl::Status ReportLostCommits() {
    ASSIGN_OR_RETURN(mark_, ReadCommitMark(*database_));
    const std::vector<std::string> lost = LostCommits(*database_, mark_);
    for (const std::string& text : lost) LogError(text);
    RETURN_IF_ERROR(lost_definitions_.Load());
    if (!lost.empty()) {
      RETURN_IF_ERROR(lost_definitions_.Note());
      RETURN_IF_ERROR(KeepLostCommits(database_.get(), LogDamage));
      RETURN_IF_ERROR(KeepNumbersInUse(database_.get(), LogDamage));
    }
    synced_.Set(mark_);
    return absl::OkStatus();
  }

  CommitMark MarkAfter(absl::Span<const BatchToCommit> batches) const {
    CommitMark mark = mark_;
    ++mark.commits;
    mark.batches += batches.size();
    for (const BatchToCommit& batch : batches) {
      mark.received = std::max(mark.received, batch.received);
    }
    return mark;
  }

  absl::Status LoadLog() {
    RETURN_IF_ERROR(log_.Load(LogDamage));
    RETURN_IF_ERROR(epochs_.Load(LogDamage));
    for (const uint32_t number : log_.index().Epochs()) {
      RETURN_IF_ERROR(indexer_.AddQueries(number));
    }
    RETURN_IF_ERROR(epochs_.ForEachAgentInLog(
        [this](uint32_t number, const std::string& agent) {
          indexer_.AddMachinesOf(agent, number);
        },
        LogDamage));
    for (const std::string& machine : directory_.Machines()) {
      if (const auto newest = NewestLogged(sources_, machine)) {
        directory_.SetNewestSample(machine, *newest);
      }
    }
    return absl::OkStatus();
  }

  absl::Status WriteDurably(Changes* changes) {
    return database_->Write(changes, Database::Durability::kPowerCut);
  }

  const std::string directory_path_;
  const std::unique_ptr<Database> database_;
  std::string id_;
  CommitMark mark_;  // of the last commit; only used by Commit
  SyncedMark synced_;
  SchemaTable schemas_;
  DefinitionTable definitions_;
  Log log_;
  EpochTable epochs_;
  KeyNumbers numbers_;
  LostDefinitions lost_definitions_;
  ExportTable exports_;
  LostTicksTable lost_ticks_;
  RecentBatches recent_;
  Directory directory_;
  MachineTable machines_;
  BatchIndexer indexer_;
  // Held while batches move from the log to chunks.
  absl::Mutex layout_mutex_;
  Compactor compactor_;
  const SampleSources sources_;
  SampleReader reader_;
  ExportReader export_reader_;

  absl::Mutex backup_mutex_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenRocksDbStore(
    const std::string& directory, const Clock* clock,
    uint64_t max_recent_bytes) {
  return RocksDbStore::Open(directory, clock, max_recent_bytes);
}

}  // namespace fleetperf::aggregator
