#include "aggregator/store/tables/received_removal.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "aggregator/samples/resolution.h"
#include "aggregator/store/tables/chunk_keys.h"
#include "aggregator/store/tables/chunk_table.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/received_index.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Deletions are written when there are this many.
constexpr size_t kMaxDeletions = 10'000;

// Deletes the entry with this key of the index, and the data it lists. Sets
// `size` to the approximate number of bytes freed.
absl::Status DeleteReceived(const Database& database, absl::string_view key,
                            uint64_t* size, Changes* changes,
                            std::vector<uint32_t>* epochs) {
  changes->Delete(Family::kChunks, key);
  *size = key.size();
  Received received;
  if (!ParseReceivedKey(key, &received)) return absl::OkStatus();
  changes->Delete(
      IsFingerprintsKey(received.key) ? Family::kDefault : Family::kChunks,
      received.key);
  uint32_t epoch_number = 0;
  uint64_t sequence = 0;
  if (ParseFingerprintsKey(received.key, &epoch_number, &sequence)) {
    epochs->push_back(epoch_number);
  }
  ChunkKey chunk_key;
  if (!ParseHeadKey(received.key, &chunk_key)) return absl::OkStatus();
  const auto chunk = GetChunk(database, chunk_key);
  if (absl::IsUnavailable(chunk.status())) return chunk.status();
  if (chunk.ok()) {
    *size += chunk->body_size + chunk->head.size();
    DeleteChunk(*chunk, changes);
  } else {
    DeletePages(database, chunk_key, changes);
  }
  return absl::OkStatus();
}

bool HasExcess(const std::pair<const uint32_t, uint64_t*>& of_machine) {
  return *of_machine.second > 0;
}

// Returns the key after all index entries of an hour.
std::string EndOfReceived(Resolution resolution, uint32_t hour) {
  return hour == UINT32_MAX ? EndOfReceived(resolution)
                            : ReceivedKey(resolution, hour + 1, "");
}

// Deletes the chunks of machines with excess that `entry`, an iterator over the
// index, lists before the end of `hour`, and moves it there, or to where `max`
// bytes are deleted.
absl::StatusOr<Removal> DeleteExcessOf(
    const Database& database, Resolution resolution, uint32_t hour,
    const std::map<uint32_t, uint64_t*>& excess, uint64_t max,
    rocksdb::Iterator* entry, Changes* changes) {
  const std::string end = EndOfReceived(resolution, hour);
  Removal removal;
  std::vector<uint32_t> epochs;  // chunks have none
  for (; entry->Valid() && ToView(entry->key()) < end && removal.bytes < max;
       entry->Next()) {
    Received received;
    ChunkKey chunk;
    if (!ParseReceivedKey(ToView(entry->key()), &received) ||
        !ParseHeadKey(received.key, &chunk)) {
      continue;
    }
    const auto of_machine = excess.find(chunk.machine);
    if (of_machine == excess.end() || !HasExcess(*of_machine)) continue;
    uint64_t size = 0;
    RETURN_IF_ERROR(DeleteReceived(database, ToView(entry->key()), &size,
                                   changes, &epochs));
    *of_machine->second -= std::min(*of_machine->second, size);
    removal.Add(
        {.bytes = size, .chunks = 1, .first_hour = hour, .last_hour = hour});
  }
  return removal;
}

// An entry of the index by hour of receipt.
struct IndexEntry {
  std::string key;
  // Of chunks; others come after them.
  uint32_t hour = UINT32_MAX;  // of its ticks
  size_t place = 0;            // among those of its machine and hour
  bool is_chunk = false;
};

// Returns the entries of an hour of receipt in the order of their deletion:
// neither one machine nor one agent comes first.
absl::StatusOr<std::vector<IndexEntry>> EntriesOf(const Database& database,
                                                  uint32_t hour) {
  std::vector<IndexEntry> entries;
  std::map<std::pair<uint32_t, uint32_t>, size_t> chunks;
  for (const Resolution resolution : kResolutions) {
    const auto entry = database.Iterate(Family::kChunks);
    const std::string end = EndOfReceived(resolution, hour);
    for (entry->Seek(ReceivedKey(resolution, hour, ""));
         entry->Valid() && ToView(entry->key()) < end; entry->Next()) {
      IndexEntry& found = entries.emplace_back();
      found.key = std::string(ToView(entry->key()));
      Received received;
      ChunkKey chunk;
      if (!ParseReceivedKey(found.key, &received) ||
          !ParseHeadKey(received.key, &chunk)) {
        continue;
      }
      found.is_chunk = true;
      found.hour = chunk.hour;
      found.place = chunks[{chunk.machine, chunk.hour}]++;
    }
    const absl::Status status = FromRocksDb(entry->status(), "read chunks");
    // The entries before the damage are deleted.
    if (!absl::IsDataLoss(status)) RETURN_IF_ERROR(status);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const IndexEntry& a, const IndexEntry& b) {
                     return std::tuple(!a.is_chunk, a.hour, a.place) <
                            std::tuple(!b.is_chunk, b.hour, b.place);
                   });
  return entries;
}

// Returns the oldest hour of receipt of all resolutions; std::nullopt if there
// is none.
absl::StatusOr<std::optional<uint32_t>> FirstHourOfAll(
    const Database& database) {
  std::optional<uint32_t> first;
  absl::Status status;
  for (const Resolution resolution : kResolutions) {
    const auto hour = FirstHour(database, resolution);
    status.Update(hour.status());
    if (hour.ok() && hour->has_value()) {
      first = std::min(first.value_or(**hour), **hour);
    }
  }
  if (!first.has_value()) RETURN_IF_ERROR(status);
  return first;
}

}  // namespace

absl::StatusOr<bool> DeleteReceivedBefore(const Database& database,
                                          absl::Time time, size_t max,
                                          Changes* changes,
                                          std::vector<uint32_t>* epochs) {
  size_t found = 0;
  // Data before the damage is deleted nevertheless.
  absl::Status status;
  for (const Resolution resolution : kResolutions) {
    const std::string end = ReceivedKey(resolution, HourOf(time), "");
    const auto entry = database.Iterate(Family::kChunks);
    for (entry->Seek(ReceivedKey(resolution, /*hour=*/0, ""));
         entry->Valid() && ToView(entry->key()) < end && found < max;
         entry->Next(), ++found) {
      uint64_t size = 0;
      RETURN_IF_ERROR(DeleteReceived(database, ToView(entry->key()), &size,
                                     changes, epochs));
    }
    status.Update(FromRocksDb(entry->status(), "read chunks"));
  }
  if (found == 0) RETURN_IF_ERROR(status);
  return found > 0;
}

void Removal::Add(const Removal& other) {
  bytes += other.bytes;
  chunks += other.chunks;
  first_hour = std::min(first_hour, other.first_hour);
  last_hour = std::max(last_hour, other.last_hour);
}

absl::StatusOr<Removal> DeleteFirstReceived(Database* database, uint64_t max,
                                            std::vector<uint32_t>* epochs) {
  Removal removal;
  ASSIGN_OR_RETURN(const std::optional<uint32_t> hour,
                   FirstHourOfAll(*database));
  if (!hour.has_value()) return removal;
  ASSIGN_OR_RETURN(const std::vector<IndexEntry> entries,
                   EntriesOf(*database, *hour));
  auto changes = std::make_unique<Changes>(database);
  for (const IndexEntry& entry : entries) {
    if (entry.is_chunk && removal.bytes >= max) break;
    uint64_t size = 0;
    RETURN_IF_ERROR(
        DeleteReceived(*database, entry.key, &size, changes.get(), epochs));
    removal.bytes += size;
    if (entry.is_chunk) {
      removal.Add({.chunks = 1, .first_hour = *hour, .last_hour = *hour});
    }
    if (changes->size() < kMaxDeletions) continue;
    RETURN_IF_ERROR(
        database->Write(changes.get(), Database::Durability::kProcess));
    changes = std::make_unique<Changes>(database);
  }
  RETURN_IF_ERROR(
      database->Write(changes.get(), Database::Durability::kProcess));
  return removal;
}

absl::StatusOr<Removal> DeleteExcess(
    Database* database, const std::map<uint32_t, uint64_t*>& excess,
    uint64_t max) {
  // One pass over the index of each resolution, hour by hour. An iterator ends
  // at damage.
  std::vector<std::unique_ptr<rocksdb::Iterator>> entries;
  for (const Resolution resolution : kResolutions) {
    entries.push_back(database->Iterate(Family::kChunks));
    entries.back()->Seek(ReceivedKey(resolution, /*hour=*/0, ""));
  }
  Removal removal;
  while (removal.bytes < max &&
         std::any_of(excess.begin(), excess.end(), HasExcess)) {
    std::optional<uint32_t> hour;  // the oldest one
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto next = NextHour(*entries[i], kResolutions[i]);
      if (next.has_value()) hour = std::min(hour.value_or(*next), *next);
    }
    if (!hour.has_value()) break;
    Changes changes(database);
    for (size_t i = 0; i < entries.size() && removal.bytes < max; ++i) {
      ASSIGN_OR_RETURN(
          const Removal of_hour,
          DeleteExcessOf(*database, kResolutions[i], *hour, excess,
                         max - removal.bytes, entries[i].get(), &changes));
      removal.Add(of_hour);
    }
    RETURN_IF_ERROR(database->Write(&changes, Database::Durability::kProcess));
  }
  return removal;
}

}  // namespace fleetperf::aggregator
