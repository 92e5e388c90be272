#include "aggregator/store/tables/export_table.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// The first byte of a cursor.
constexpr uint8_t kVersion = 1;

std::string UnexportedPrefix() { return UnexportedKey(""); }

// The prefix of the listed chunks of one machine.
std::string UnexportedPrefix(uint32_t machine) {
  return UnexportedKey(absl::StrCat("H", BigEndian(machine)));
}

std::string Encode(const UnexportedChunk& chunk) {
  return absl::StrCat(BigEndian(chunk.last_sequence), BigEndian(chunk.values),
                      EncodeTime(chunk.received));
}

// Returns false if the record is damaged.
bool Decode(absl::string_view key, absl::string_view record,
            UnexportedChunk* chunk) {
  key.remove_prefix(UnexportedPrefix().size());
  return ParseHeadKey(key, &chunk->key) &&
         GetBigEndian(&record, &chunk->last_sequence) &&
         GetBigEndian(&record, &chunk->values) &&
         GetTime(&record, &chunk->received) && record.empty();
}

absl::Status DeleteAll(absl::string_view prefix, Database* database) {
  Changes changes(database);
  RETURN_IF_ERROR(database->ForEach(
      Family::kDefault, prefix, [&](absl::string_view key, absl::string_view) {
        changes.Delete(Family::kDefault, key);
      }));
  if (changes.size() == 0) return absl::OkStatus();
  return database->Write(&changes, Database::Durability::kProcess);
}

}  // namespace

std::string ExportCursor::Encode() const {
  std::string record = absl::StrCat(BigEndian(kVersion), BigEndian(sequence));
  for (const auto& [shape, tick] : ticks) {
    const perflib::Clocks& clocks = tick.clocks;
    absl::StrAppend(&record, BigEndian(shape), BigEndian(tick.order),
                    BigEndian(static_cast<uint64_t>(clocks.perf_time_stamp)),
                    BigEndian(static_cast<uint64_t>(clocks.perf_time_100nsec)),
                    BigEndian(static_cast<uint64_t>(clocks.perf_freq)));
  }
  return record;
}

bool ExportCursor::Decode(absl::string_view record, ExportCursor* cursor) {
  *cursor = {};
  uint8_t version = 0;
  if (!GetBigEndian(&record, &version) || version != kVersion ||
      !GetBigEndian(&record, &cursor->sequence)) {
    return false;
  }
  while (!record.empty()) {
    uint32_t shape = 0;
    uint64_t order = 0;
    uint64_t stamp = 0;
    uint64_t time = 0;
    uint64_t freq = 0;
    if (!GetBigEndian(&record, &shape) || !GetBigEndian(&record, &order) ||
        !GetBigEndian(&record, &stamp) || !GetBigEndian(&record, &time) ||
        !GetBigEndian(&record, &freq)) {
      return false;
    }
    cursor->ticks[shape] = {
        .order = order,
        .clocks = {.perf_time_stamp = static_cast<int64_t>(stamp),
                   .perf_time_100nsec = static_cast<int64_t>(time),
                   .perf_freq = static_cast<int64_t>(freq)}};
  }
  return true;
}

absl::Status ExportTable::Keep(bool keep) {
  absl::MutexLock lock(&mutex_);
  keeps_ = keep;
  if (keep) return absl::OkStatus();
  RETURN_IF_ERROR(DeleteAll(UnexportedPrefix(), &database_));
  return DeleteAll(ExportCursorPrefix(0).substr(0, 1), &database_);
}

absl::StatusOr<ExportCursor> ExportTable::GetCursor(
    uint32_t epoch_number, uint32_t machine, const Snapshot* snapshot) const {
  const std::string key = ExportCursorKey(epoch_number, machine);
  const auto record = database_.Get(Family::kDefault, key, snapshot);
  if (absl::IsNotFound(record.status())) return ExportCursor();
  RETURN_IF_ERROR(record.status());
  ExportCursor cursor;
  if (!ExportCursor::Decode(*record, &cursor)) {
    LogDamage(DamagedRecord(key));
    return ExportCursor();
  }
  return cursor;
}

absl::StatusOr<std::vector<UnexportedChunk>> ExportTable::FindChunks(
    uint32_t machine, const Snapshot& snapshot) const {
  const std::string prefix = UnexportedPrefix(machine);
  const std::string end = EndOfPrefix(prefix);
  const rocksdb::Slice end_slice = end;
  const auto entry = database_.Iterate(Family::kDefault, &snapshot, &end_slice);
  std::vector<UnexportedChunk> chunks;
  for (entry->Seek(prefix); entry->Valid(); entry->Next()) {
    UnexportedChunk chunk;
    if (Decode(ToView(entry->key()), ToView(entry->value()), &chunk)) {
      chunks.push_back(chunk);
    } else {
      LogDamage(DamagedRecord(ToView(entry->key())));
    }
  }
  RETURN_IF_ERROR(FromRocksDb(entry->status(), "read its export cursors"));
  std::sort(chunks.begin(), chunks.end(), [](const auto& a, const auto& b) {
    return std::tie(a.key.epoch_number, a.key.order) <
           std::tie(b.key.epoch_number, b.key.order);
  });
  return chunks;
}

absl::Status ExportTable::WriteNew(absl::Span<const UnexportedChunk> chunks,
                                   Changes* changes) {
  absl::MutexLock lock(&mutex_);
  for (const UnexportedChunk& chunk : chunks) {
    if (!keeps_) break;
    ASSIGN_OR_RETURN(const ExportCursor cursor,
                     GetCursor(chunk.key.epoch_number, chunk.key.machine,
                               /*snapshot=*/nullptr));
    if (cursor.sequence >= chunk.last_sequence) continue;
    changes->Put(Family::kDefault, UnexportedKey(HeadKey(chunk.key)),
                 Encode(chunk));
  }
  return database_.Write(changes, Database::Durability::kProcess);
}

absl::Status ExportTable::WriteMerged(absl::Span<const ChunkKey> pieces,
                                      absl::Span<const ChunkKey> merged,
                                      Changes* changes) {
  absl::MutexLock lock(&mutex_);
  std::optional<UnexportedChunk> all;
  for (const ChunkKey& key : pieces) {
    const std::string listed = UnexportedKey(HeadKey(key));
    const auto record = database_.Get(Family::kDefault, listed);
    if (absl::IsNotFound(record.status())) continue;
    RETURN_IF_ERROR(record.status());
    changes->Delete(Family::kDefault, listed);
    UnexportedChunk piece;
    if (!Decode(listed, *record, &piece)) {
      LogDamage(DamagedRecord(listed));
      continue;
    }
    if (!all.has_value()) {
      all = piece;
      continue;
    }
    all->last_sequence = std::max(all->last_sequence, piece.last_sequence);
    all->values += piece.values;
    all->received = std::min(all->received, piece.received);
  }
  for (const ChunkKey& key : merged) {
    if (!all.has_value()) break;
    changes->Put(Family::kDefault, UnexportedKey(HeadKey(key)), Encode(*all));
    all->values = 0;  // counted once
  }
  return database_.Write(changes, Database::Durability::kProcess);
}

absl::Status ExportTable::Set(absl::Span<const ExportProgress> progress) {
  absl::MutexLock lock(&mutex_);
  Changes changes(&database_);
  for (const ExportProgress& one : progress) {
    changes.Put(Family::kDefault, one.cursor_key, one.cursor);
    for (const std::string& key : one.taken_chunks) {
      changes.Delete(Family::kDefault, key);
    }
  }
  return database_.Write(&changes, Database::Durability::kProcess);
}

absl::Status ExportTable::RemoveEpoch(const Database& database,
                                      uint32_t epoch_number, Changes* changes) {
  return database.ForEach(Family::kDefault, ExportCursorPrefix(epoch_number),
                          [&](absl::string_view key, absl::string_view) {
                            changes->Delete(Family::kDefault, key);
                          });
}

}  // namespace fleetperf::aggregator
