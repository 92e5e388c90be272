#include "aggregator/store/backup/lost_data.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "aggregator/samples/commit.h"
#include "aggregator/samples/resolution.h"
#include "aggregator/store/backup/chunk_check.h"
#include "aggregator/store/tables/chunk_keys.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/definition_table.h"
#include "aggregator/store/tables/fingerprints.h"
#include "aggregator/store/tables/key_numbers.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/log.h"
#include "aggregator/store/tables/loss_table.h"
#include "aggregator/store/tables/lost_commits.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "aggregator/store/tables/sst_blocks.h"
#include "base/os/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Distinguishes the key of a chunk's loss from those of batches' losses, whose
// sequences are smaller.
constexpr uint64_t kChunkLoss = kMaxSequence + 1;

class LostData {
 public:
  LostData(Database* database, const std::function<void(uint64_t)>& progress,
           std::vector<std::string>* lost)
      : database_(*database),
        progress_(progress),
        lost_(*lost),
        definitions_(database, &schemas_),
        numbers_(database, &schemas_),
        log_(database, &definitions_),
        changes_(database) {}

  absl::Status Find(const std::vector<std::string>& dropped,
                    const Clock& clock) {
    RETURN_IF_ERROR(numbers_.Load(
        [&](const absl::Status& damage) { Lose(damage.message()); }));
    RETURN_IF_ERROR(FindLostBatches());
    for (const Resolution resolution : kResolutions) {
      RETURN_IF_ERROR(FindLostChunks(resolution));
    }
    for (const std::string& path : dropped) {
      if (!absl::EndsWith(path, ".sst")) continue;
      RETURN_IF_ERROR(FindDroppedChunks(path, clock.Now()));
    }
    if (changes_.size() == 0) return absl::OkStatus();
    return database_.Write(&changes_, Database::Durability::kPowerCut);
  }

 private:
  void Lose(absl::string_view what) { lost_.emplace_back(what); }

  static bool IsLost(const absl::Status& status) {
    return absl::IsNotFound(status) || absl::IsDataLoss(status);
  }

  // Adds the keys of a family of the log.
  absl::Status AddLogKeys(Family family, std::set<std::string>* keys) const {
    return database_.ForEach(
        family, "",
        [&](absl::string_view key, absl::string_view) { keys->emplace(key); });
  }

  absl::Status FindLostBatches() {
    std::set<std::string> keys;
    RETURN_IF_ERROR(AddLogKeys(Family::kTimes, &keys));
    // The index lists batches from damage to the end, too.
    const absl::Status added = AddLogKeys(Family::kLog, &keys);
    if (!absl::IsDataLoss(added)) RETURN_IF_ERROR(added);
    for (const std::string& key : keys) {
      uint32_t epoch_number = 0;
      uint64_t sequence = 0;
      if (!ParseLogKey(key, &epoch_number, &sequence)) continue;
      RETURN_IF_ERROR(CheckBatch(key, epoch_number, sequence));
    }
    return absl::OkStatus();
  }

  absl::Status CheckBatch(const std::string& key, uint32_t epoch_number,
                          uint64_t sequence) {
    const auto moved = FingerprintInChunk(database_, epoch_number, sequence);
    if (!absl::IsDataLoss(moved.status())) RETURN_IF_ERROR(moved.status());
    if (moved.ok() && moved->has_value()) {
      Log::Delete(epoch_number, sequence, &changes_);
      return absl::OkStatus();
    }
    const auto listed = database_.Get(Family::kTimes, key);
    if (absl::IsNotFound(listed.status())) {
      const absl::Status indexed = log_.List(epoch_number, sequence, &changes_);
      if (indexed.ok()) return indexed;
      Lose(indexed.message());
      Log::Delete(epoch_number, sequence, &changes_);
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(listed.status());
    const absl::Status read = database_.Get(Family::kLog, key).status();
    if (!IsLost(read)) return read;
    BatchTimes times;
    uint64_t fingerprint = 0;
    // Each start reports a damaged record.
    if (DecodeTimes(*listed, &times, &fingerprint)) {
      LoseBatch(epoch_number, sequence, times);
    }
    return absl::OkStatus();
  }

  void LoseBatch(uint32_t epoch_number, uint64_t sequence,
                 const BatchTimes& times) {
    const auto agent = definitions_.GetAgent(epoch_number);
    Lose(absl::StrCat("batch ", sequence, " of epoch ", epoch_number,
                      agent.ok() ? absl::StrCat(" of ", *agent) : "",
                      ", received ", absl::FormatTime(times.received)));
    if (!agent.ok()) return Log::Delete(epoch_number, sequence, &changes_);
    const DecodedBatch decoded{.losses = {{.start = times.oldest,
                                           .end = times.newest,
                                           .cause = LossCause::kStoreDamaged}}};
    Log::Put({.epoch_number = epoch_number,
              .sequence = sequence,
              .agent = *agent,
              .received = times.received,
              .decoded = &decoded},
             &changes_);
  }

  absl::Status FindLostChunks(Resolution resolution) {
    const auto entry = database_.Iterate(Family::kChunks);
    const std::string end = EndOfReceived(resolution);
    for (entry->Seek(ReceivedKey(resolution, /*hour=*/0, ""));
         entry->Valid() && ToView(entry->key()) < end; entry->Next()) {
      const absl::string_view index_key = ToView(entry->key());
      Received received;
      ChunkKey key;
      if (!ParseReceivedKey(index_key, &received) ||
          !ParseHeadKey(received.key, &key)) {
        continue;
      }
      progress_(++checked_);
      const absl::Status read = CheckChunk(key);
      if (read.ok()) continue;
      if (!IsLost(read)) return read;
      if (absl::IsNotFound(read)) changes_.Delete(Family::kChunks, index_key);
      LoseChunk(key, StartOfHour(received.hour));
    }
    const absl::Status status = FromRocksDb(entry->status(), "read chunks");
    if (!absl::IsDataLoss(status)) return status;
    Lose(absl::StrCat("the rest of the index of chunks: ", status.message()));
    return absl::OkStatus();
  }

  // The file's blocks are not checked, so only their keys are used.
  absl::Status FindDroppedChunks(const std::string& path, absl::Time now) {
    ASSIGN_OR_RETURN(const std::string file, ReadFile(path));
    std::map<ChunkKey, uint64_t> chunks;  // with the number of the change
    ReadSstBlocks(file, [&](const SstEntry& entry) {
      ChunkKey key;
      if (!entry.is_value || !ParseHeadKey(entry.key, &key)) return;
      chunks.emplace(key, entry.change);  // the newest change comes first
    });
    for (const auto& [key, change] : chunks) {
      ASSIGN_OR_RETURN(
          const bool is_replaced,
          database_.HasChangedSince(Family::kChunks, HeadKey(key), change));
      if (!is_replaced) LoseChunk(key, now);
    }
    return absl::OkStatus();
  }

  // Returns NotFound if there is no such chunk, and DataLoss if a part of it is
  // lost.
  absl::Status CheckChunk(const ChunkKey& key) const {
    ASSIGN_OR_RETURN(const StoredChunk chunk, GetChunk(database_, key));
    const absl::Status read = CountValues(database_, numbers_, chunk).status();
    if (absl::IsNotFound(read)) return absl::DataLossError("a page is missing");
    return read;
  }

  void LoseChunk(const ChunkKey& key, absl::Time received) {
    if (!lost_chunks_.insert(key).second) return;
    const absl::Time start = StartOfHour(key.hour);
    const absl::Time end = start + absl::Hours(HoursOfChunk(key.resolution));
    const auto machine = numbers_.MachineOf(key.machine);
    Lose(absl::StrCat(machine.value_or(absl::StrCat("machine ", key.machine)),
                      ": samples from ",
                      absl::FormatTime(start, absl::UTCTimeZone()), " to ",
                      absl::FormatTime(end, absl::UTCTimeZone())));
    // Losses are listed by the hour of their end.
    PutLosses(key.machine, key.epoch_number, kChunkLoss + (key.order >> 24),
              received,
              {{.start = start,
                .end = end - absl::Nanoseconds(100),
                .cause = LossCause::kStoreDamaged}},
              &changes_);
  }

  Database& database_;
  const std::function<void(uint64_t)>& progress_;
  uint64_t checked_ = 0;
  std::vector<std::string>& lost_;
  std::set<ChunkKey> lost_chunks_;
  SchemaTable schemas_;
  DefinitionTable definitions_;
  KeyNumbers numbers_;
  Log log_;
  Changes changes_;
};

}  // namespace

absl::Status KeepLostData(Database* database, bool has_losses,
                          const std::vector<std::string>& dropped,
                          const Clock& clock,
                          const std::function<void(uint64_t)>& progress,
                          std::vector<std::string>* lost) {
  const size_t known = lost->size();
  RETURN_IF_ERROR(LostData(database, progress, lost).Find(dropped, clock));
  if (!has_losses && lost->size() == known) return absl::OkStatus();
  RETURN_IF_ERROR(LostDefinitions(database, &clock).Note());
  return KeepNumbersInUse(database, [&](const absl::Status& damage) {
    lost->emplace_back(damage.message());
  });
}

}  // namespace fleetperf::aggregator
