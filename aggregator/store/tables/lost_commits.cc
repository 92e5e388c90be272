#include "aggregator/store/tables/lost_commits.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/commit.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/epoch_table.h"
#include "aggregator/store/tables/fingerprints.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/log.h"
#include "aggregator/store/tables/lost_ticks_table.h"
#include "aggregator/store/tables/received_index.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The maximum wait for lost definitions, which must come from agents that may
// not be running; and the wait after an agent began to send its definitions.
constexpr absl::Duration kMaxWait = absl::Hours(24);
constexpr absl::Duration kMaxSendTime = absl::Minutes(10);

// Returns whether the batch is in the log or in chunks. Other files of the
// database also have parts of the write-ahead log. On an error, the batch may
// be present.
absl::StatusOr<bool> Has(const Database& database, uint32_t epoch_number,
                         uint64_t sequence) {
  const absl::Status logged =
      database.Get(Family::kTimes, LogKey(epoch_number, sequence)).status();
  if (logged.ok()) return true;
  if (!absl::IsNotFound(logged)) return logged;
  ASSIGN_OR_RETURN(const auto fingerprint,
                   FingerprintInChunk(database, epoch_number, sequence));
  return fingerprint.has_value();
}

// Returns whether the only known losses are batches, and all of them are
// present in other files.
bool IsHarmless(const Database& database, const WalDamage& damage) {
  const auto is_there = [&](const MissingBatches& missing) {
    const auto has = Has(database, missing.epoch_number, missing.last_sequence);
    return has.ok() && *has;
  };
  return !damage.epochs.empty() &&
         std::all_of(damage.epochs.begin(), damage.epochs.end(), is_there);
}

Loss LossOf(const WalDamage& damage, const MissingBatches& missing) {
  absl::Time start = missing.start;
  if (start == absl::InfinitePast()) start = damage.after;
  if (start == absl::InfinitePast()) start = missing.end;
  return {.start = std::min(start, missing.end),
          .end = std::max(start, missing.end),
          .cause = LossCause::kStoreDamaged};
}

// Adds a loss in place of batches, unless the batches are present. DataLoss if
// that is impossible.
absl::Status AddLoss(const Loss& loss, const MissingBatches& missing,
                     const Database& database,
                     const DefinitionTable& definitions,
                     LostTicksTable* lost_ticks, Changes* changes) {
  ASSIGN_OR_RETURN(const bool has,
                   Has(database, missing.epoch_number, missing.last_sequence));
  if (has) return absl::OkStatus();
  const auto agent = definitions.GetAgent(missing.epoch_number);
  if (absl::IsNotFound(agent.status())) {
    return absl::DataLossError(
        absl::StrCat("cannot record a gap of epoch ", missing.epoch_number,
                     ": the name of its agent is lost, too"));
  }
  RETURN_IF_ERROR(agent.status());
  const DecodedBatch decoded{.losses = {loss}};
  const BatchToCommit batch{.epoch_number = missing.epoch_number,
                            .sequence = missing.last_sequence,
                            .agent = *agent,
                            .received = missing.received,
                            .decoded = &decoded};
  LostTicksTable::Map lost = lost_ticks->After({batch});
  LostTicksTable::Put(lost, changes);
  lost_ticks->Take(std::move(lost));
  Log::Put(batch, changes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommitMark> ReadCommitMark(const Database& database) {
  CommitMark mark;
  const auto record = database.Get(Family::kDefault, CommitMarkKey());
  if (absl::IsNotFound(record.status())) return mark;
  RETURN_IF_ERROR(record.status());
  // If the mark is damaged, counting restarts.
  if (!ParseCommitMark(*record, &mark)) mark = {};
  return mark;
}

std::vector<std::string> LostCommits(const Database& database,
                                     const CommitMark& mark) {
  std::vector<std::string> lost;
  const WalCheck& wal = database.wal();
  const std::string aside =
      absl::StrCat("; when the store is opened, damaged files are kept in ",
                   DamagedFilesIn(database.directory()));
  for (WalDamage damage : wal.damage) {
    if (IsHarmless(database, damage)) damage.commits = damage.batches = 0;
    lost.push_back(absl::StrCat(Describe(damage), aside));
  }
  if (!database.missing().ok()) {
    lost.emplace_back(database.missing().message());
  }
  CommitMark last = mark;
  if (wal.last.has_value() && wal.last->commits > last.commits) {
    last = *wal.last;
  }
  const CommitMark& synced = wal.synced;
  if (synced.commits > last.commits) {
    lost.push_back(Describe({.commits = synced.commits - last.commits,
                             .batches = synced.batches - last.batches,
                             .after = last.received,
                             .before = synced.received}));
  }
  return lost;
}

absl::Status KeepLostCommits(Database* database, OnDamage on_damage) {
  absl::Status status;
  const auto skip_damage = [&](const absl::Status& result) {
    if (absl::IsDataLoss(result)) {
      on_damage(result);
    } else {
      status.Update(result);
    }
  };
  SchemaTable schemas;
  const DefinitionTable definitions(database, &schemas);
  LostTicksTable lost_ticks;
  skip_damage(lost_ticks.Load(*database, on_damage));
  Changes changes(database);
  for (const WalDamage& damage : database->wal().damage) {
    for (const MissingBatches& missing : damage.epochs) {
      skip_damage(AddLoss(LossOf(damage, missing), missing, *database,
                          definitions, &lost_ticks, &changes));
    }
  }
  RETURN_IF_ERROR(status);
  if (changes.size() == 0) return absl::OkStatus();
  return database->Write(&changes, Database::Durability::kPowerCut);
}

absl::Status KeepNumbersInUse(Database* database, OnDamage on_damage) {
  ASSIGN_OR_RETURN(const NumbersInUse numbers,
                   FindNumbersInUse(*database, on_damage));
  Changes changes(database);
  for (const auto& [machine, shape] : numbers.collected) {
    changes.Put(Family::kDefault, CollectedKey(machine, shape), "");
  }
  const absl::Status epoch =
      database->Get(Family::kDefault, DurableKey(numbers.last_epoch)).status();
  if (numbers.last_epoch > 0 && absl::IsNotFound(epoch)) {
    EpochTable::PutDurable(numbers.last_epoch, 0, 0, &changes);
  }
  return database->Write(&changes, Database::Durability::kPowerCut);
}

absl::Status LostDefinitions::Load() {
  const absl::Status noted =
      database_.Get(Family::kDefault, LostDefinitionsKey()).status();
  if (absl::IsNotFound(noted)) return absl::OkStatus();
  RETURN_IF_ERROR(noted);
  absl::MutexLock lock(&mutex_);
  are_lost_ = true;
  end_ = clock_.Monotonic() + kMaxWait;
  return absl::OkStatus();
}

absl::Status LostDefinitions::Note() {
  Changes changes(&database_);
  changes.Put(Family::kDefault, LostDefinitionsKey(), "");
  RETURN_IF_ERROR(database_.Write(&changes, Database::Durability::kPowerCut));
  return Load();
}

bool LostDefinitions::MustAsk(uint32_t epoch_number) const {
  absl::ReaderMutexLock lock(&mutex_);
  return are_lost_ && Find(epoch_number).end == absl::InfiniteDuration();
}

bool LostDefinitions::NoteReceived(uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  if (!are_lost_) return false;
  Epoch& epoch = epochs_[epoch_number];
  epoch.end = clock_.Monotonic() + kMaxSendTime;
  epoch.is_waiting = false;
  return true;
}

bool LostDefinitions::MayComeLocked(const Epoch& epoch) const {
  return are_lost_ && clock_.Monotonic() < std::min(epoch.end, end_);
}

LostDefinitions::Epoch LostDefinitions::Find(uint32_t epoch_number) const {
  const auto epoch = epochs_.find(epoch_number);
  return epoch != epochs_.end() ? epoch->second : Epoch();
}

bool LostDefinitions::MayCome(uint32_t epoch_number) const {
  absl::ReaderMutexLock lock(&mutex_);
  return MayComeLocked(Find(epoch_number));
}

void LostDefinitions::Wait(uint32_t epoch_number) {
  absl::MutexLock lock(&mutex_);
  epochs_[epoch_number].is_waiting = true;
}

bool LostDefinitions::IsWaiting(uint32_t epoch_number) const {
  absl::ReaderMutexLock lock(&mutex_);
  const Epoch epoch = Find(epoch_number);
  return epoch.is_waiting && MayComeLocked(epoch);
}

absl::Status LostDefinitions::EndWaiting() {
  {
    absl::MutexLock lock(&mutex_);
    if (!are_lost_ || clock_.Monotonic() < end_) return absl::OkStatus();
    are_lost_ = false;
    epochs_.clear();
  }
  Changes changes(&database_);
  changes.Delete(Family::kDefault, LostDefinitionsKey());
  return database_.Write(&changes, Database::Durability::kProcess);
}

}  // namespace fleetperf::aggregator
