#include "aggregator/store/lost_commits.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/store/keys.h"
#include "aggregator/store/log.h"
#include "aggregator/store/store.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Whether the batch is in the log or in chunks: the database has some of what
// was in its write-ahead log in other files, too.
bool Has(const Database& database, uint32_t epoch_number, uint64_t sequence) {
  if (database.Get(Family::kTimes, LogKey(epoch_number, sequence)).ok()) {
    return true;
  }
  const auto entry = database.Iterate(Family::kDefault);
  entry->SeekForPrev(FingerprintsKey(epoch_number, sequence));
  if (!entry->Valid()) return false;
  absl::string_view key = ToView(entry->key());
  uint32_t number = 0;
  uint64_t first = 0;
  if (!IsFingerprintsKey(key)) return false;
  key.remove_prefix(1);
  return GetBigEndian(&key, &number) && GetBigEndian(&key, &first) &&
         number == epoch_number &&
         sequence - first < entry->value().size() / sizeof(uint64_t);
}

bool IsLost(const Database& database, const MissingBatches& missing) {
  return !Has(database, missing.epoch_number, missing.last_sequence);
}

// What is said of batches alone; all of them are in other files.
bool IsHarmless(const Database& database, const WalDamage& damage) {
  return !damage.epochs.empty() &&
         std::none_of(damage.epochs.begin(), damage.epochs.end(),
                      [&](const MissingBatches& missing) {
                        return IsLost(database, missing);
                      });
}

absl::StatusOr<std::map<uint32_t, std::string>> AgentsByEpoch(
    const Database& database) {
  std::map<uint32_t, std::string> agents;
  RETURN_IF_ERROR(database.ForEach(
      Family::kDefault, EpochPrefix(),
      [&](absl::string_view key, absl::string_view value) {
        std::string agent;
        uint32_t number = 0;
        if (ParseEpochKey(key, &agent) && GetBigEndian(&value, &number)) {
          agents[number] = std::move(agent);
        }
      }));
  return agents;
}

Loss LossOf(const WalDamage& damage, const MissingBatches& missing) {
  absl::Time start = missing.start;
  if (start == absl::InfinitePast()) start = damage.after;
  if (start == absl::InfinitePast()) start = missing.end;
  return {.start = std::min(start, missing.end),
          .end = std::max(start, missing.end),
          .cause = LossCause::kStoreDamaged};
}

}  // namespace

absl::StatusOr<CommitMark> ReadCommitMark(const Database& database) {
  CommitMark mark;
  const auto record = database.Get(Family::kDefault, CommitMarkKey());
  if (absl::IsNotFound(record.status())) return mark;
  RETURN_IF_ERROR(record.status());
  // One that is damaged counts anew.
  if (!ParseCommitMark(*record, &mark)) mark = {};
  return mark;
}

std::vector<std::string> LostCommits(const Database& database,
                                     const CommitMark& mark) {
  std::vector<std::string> lost;
  const WalCheck& wal = database.wal();
  const std::string aside =
      absl::StrCat("; a store that is opened keeps such files in ",
                   DamagedFilesIn(database.directory()));
  for (WalDamage damage : wal.damage) {
    if (IsHarmless(database, damage)) damage.commits = damage.batches = 0;
    lost.push_back(absl::StrCat(Describe(damage), aside));
  }
  if (!database.missing_wal().ok()) {
    lost.push_back(absl::StrCat(
        "a file of the write-ahead log is missing or too short, with what was "
        "acknowledged: ",
        database.missing_wal().message()));
  }
  CommitMark last = mark;
  if (wal.last.has_value() && wal.last->commits > last.commits) {
    last = *wal.last;
  }
  const CommitMark& synced = database.synced();
  if (synced.commits > last.commits && !wal.end_is_damaged) {
    lost.push_back(Describe({.commits = synced.commits - last.commits,
                             .batches = synced.batches - last.batches,
                             .after = last.received,
                             .before = synced.received}));
  }
  return lost;
}

absl::Status KeepLostCommits(Database* database, LostTicksTable* lost_ticks) {
  ASSIGN_OR_RETURN(const auto agents, AgentsByEpoch(*database));
  for (const WalDamage& damage : database->wal().damage) {
    for (const MissingBatches& missing : damage.epochs) {
      const auto agent = agents.find(missing.epoch_number);
      if (agent == agents.end() || !IsLost(*database, missing)) continue;
      const DecodedBatch told{.losses = {LossOf(damage, missing)}};
      const BatchToCommit batch{.epoch_number = missing.epoch_number,
                                .sequence = missing.last_sequence,
                                .agent = agent->second,
                                .received = missing.received,
                                .decoded = &told};
      LostTicksTable::Map lost = lost_ticks->After({batch});
      Changes changes(database);
      LostTicksTable::Put(lost, &changes);
      Log::Put(batch, &changes);
      RETURN_IF_ERROR(
          database->Write(&changes, Database::Durability::kPowerCut));
      lost_ticks->Take(std::move(lost));
    }
  }
  return absl::OkStatus();
}

}  // namespace fleetperf::aggregator
