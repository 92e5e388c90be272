#include "aggregator/store/tables/chunk_table.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "aggregator/store/tables/chunk_keys.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/loss_table.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/coding.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

constexpr uint64_t kPageBytes = 16 << 10;
// Deletions are written when there are this many.
constexpr size_t kMaxDeletions = 10'000;

// Returns the oldest hour of receipt in the index of this resolution.
// std::nullopt if there is none.
absl::StatusOr<std::optional<uint32_t>> FirstHour(const Database& database,
                                                  Resolution resolution) {
  const auto entry = database.Iterate(Family::kChunks);
  Received received;
  for (entry->Seek(ReceivedKey(resolution, /*hour=*/0, ""));
       entry->Valid() && ToView(entry->key()) < EndOfReceived(resolution);
       entry->Next()) {
    if (ParseReceivedKey(ToView(entry->key()), &received)) {
      return std::optional<uint32_t>(received.hour);
    }
  }
  RETURN_IF_ERROR(FromRocksDb(entry->status(), "read chunks"));
  return std::optional<uint32_t>();
}

// Moves an iterator over the index past damaged entries. Returns the hour of
// receipt of the entry; std::nullopt at the end of the resolution.
std::optional<uint32_t> NextHour(rocksdb::Iterator& entry,
                                 Resolution resolution) {
  Received received;
  for (; entry.Valid() && ToView(entry.key()) < EndOfReceived(resolution);
       entry.Next()) {
    if (ParseReceivedKey(ToView(entry.key()), &received)) return received.hour;
  }
  return std::nullopt;
}

// Returns the newest hour of receipt. Damaged entries are skipped.
std::optional<uint32_t> LastHour(const Database& database,
                                 Resolution resolution) {
  const auto entry = database.Iterate(Family::kChunks);
  const std::string first_key = ReceivedKey(resolution, /*hour=*/0, "");
  Received received;
  for (entry->SeekForPrev(EndOfReceived(resolution));
       entry->Valid() && ToView(entry->key()) >= first_key; entry->Prev()) {
    if (ParseReceivedKey(ToView(entry->key()), &received)) return received.hour;
  }
  return std::nullopt;
}

std::vector<uint32_t> DecodeShapes(absl::string_view record) {
  std::vector<uint32_t> shapes;
  for (uint64_t shape = 0; GetVarint(&record, &shape);) {
    shapes.push_back(static_cast<uint32_t>(shape));
  }
  return shapes;
}

// Returns the chunks listed under one resolution and received from hour `first`
// until before hour `end`, ordered by machine, epoch and order.
absl::StatusOr<std::vector<ReceivedChunk>> ReceivedBetween(
    const Database& database, Resolution resolution, uint32_t first,
    uint32_t end, OnDamage on_damage) {
  std::vector<ReceivedChunk> chunks;
  const auto entry = database.Iterate(Family::kChunks);
  const std::string end_key =
      std::min(ReceivedKey(resolution, end, ""), EndOfReceived(resolution));
  for (entry->Seek(ReceivedKey(resolution, first, ""));
       entry->Valid() && ToView(entry->key()) < end_key; entry->Next()) {
    Received received;
    if (!ParseReceivedKey(ToView(entry->key()), &received)) {
      on_damage(DamagedRecord(ToView(entry->key())));
      continue;
    }
    ReceivedChunk chunk{.listed = resolution,
                        .received = StartOfHour(received.hour)};
    // Losses and fingerprints are listed, too.
    if (!ParseHeadKey(received.key, &chunk.key)) continue;
    chunk.shapes = DecodeShapes(ToView(entry->value()));
    chunks.push_back(std::move(chunk));
  }
  const absl::Status status = FromRocksDb(entry->status(), "read chunks");
  // The index only drives merging, which can do without some chunks.
  if (absl::IsDataLoss(status)) {
    on_damage(status);
  } else if (!status.ok()) {
    return status;
  }
  std::sort(chunks.begin(), chunks.end(), [](const auto& a, const auto& b) {
    return std::tie(a.key.machine, a.key.epoch_number, a.key.order) <
           std::tie(b.key.machine, b.key.epoch_number, b.key.order);
  });
  return chunks;
}

std::string EncodeShapes(const std::vector<uint32_t>& shapes) {
  std::string record;
  for (const uint32_t shape : shapes) PutVarint(shape, &record);
  return record;
}

uint64_t PagesOf(uint64_t body_size) {
  return (body_size + kPageBytes - 1) / kPageBytes;
}

absl::StatusOr<StoredChunk> ParseRecord(const ChunkKey& key,
                                        absl::string_view record) {
  StoredChunk chunk{.key = key};
  if (!GetBigEndian(&record, &chunk.body_size) ||
      !GetTime(&record, &chunk.received) || chunk.body_size > kMaxBodySize) {
    return DamagedRecord(HeadKey(key));
  }
  chunk.head = std::string(record);
  return chunk;
}

// Reads parts of a chunk's body.
class BodyReader {
 public:
  BodyReader(const Database* database, const Snapshot* snapshot,
             const StoredChunk& chunk)
      : database_(*database),
        snapshot_(snapshot),
        key_(chunk.key),
        size_(chunk.body_size) {}

  // The result is valid until the next call.
  absl::StatusOr<absl::string_view> Read(uint64_t offset, uint64_t size) {
    if (offset > size_ || size > size_ - offset) {
      return absl::DataLossError(
          "a chunk's head refers past the end of its body");
    }
    ASSIGN_OR_RETURN(absl::string_view part, PartOfPage(offset, size));
    if (part.size() == size) return part;
    joined_.clear();
    for (;;) {
      joined_.append(part.data(), part.size());
      if (joined_.size() == size) return absl::string_view(joined_);
      ASSIGN_OR_RETURN(
          part, PartOfPage(offset + joined_.size(), size - joined_.size()));
    }
  }

 private:
  // Returns up to `size` bytes at `offset`, as far as they are on its page.
  absl::StatusOr<absl::string_view> PartOfPage(uint64_t offset, uint64_t size) {
    if (size == 0) return absl::string_view();
    RETURN_IF_ERROR(Load(offset / kPageBytes));
    const absl::string_view page = ToView(page_);
    if (page.size() <= offset % kPageBytes) {
      return absl::DataLossError("a page of a chunk is too short");
    }
    return page.substr(offset % kPageBytes, size);
  }

  // Consecutive reads are often on the same page.
  absl::Status Load(uint64_t number) {
    if (number == number_) return absl::OkStatus();
    number_ = UINT64_MAX;
    const absl::Status status = database_.GetPinned(
        Family::kChunks, PageKey(key_, number), snapshot_, &page_);
    if (absl::IsNotFound(status)) {
      return absl::DataLossError("a page of a chunk is missing");
    }
    RETURN_IF_ERROR(status);
    number_ = number;
    return absl::OkStatus();
  }

  const Database& database_;
  const Snapshot* const snapshot_;
  const ChunkKey key_;
  const uint64_t size_;
  uint64_t number_ = UINT64_MAX;  // of page_
  rocksdb::PinnableSlice page_;
  std::string joined_;  // parts of several pages
};

// Deletes all readable pages of a chunk whose head does not give their number.
void DeletePages(const Database& database, const ChunkKey& key,
                 Changes* changes) {
  const auto entry = database.Iterate(Family::kChunks);
  const std::string last = PageKey(key, UINT32_MAX);
  for (entry->Seek(PageKey(key, 0));
       entry->Valid() && ToView(entry->key()) <= last; entry->Next()) {
    changes->Delete(Family::kChunks, ToView(entry->key()));
  }
}

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

void PutChunk(const ChunkKey& key, absl::Time received,
              const std::vector<uint32_t>& shapes, const EncodedChunk& chunk,
              Changes* changes) {
  changes->Put(Family::kChunks, HeadKey(key),
               absl::StrCat(BigEndian(uint64_t{chunk.body.size()}),
                            EncodeTime(received), chunk.head));
  const absl::string_view body = chunk.body;
  for (uint64_t page = 0; page < PagesOf(body.size()); ++page) {
    changes->Put(Family::kChunks, PageKey(key, page),
                 body.substr(page * kPageBytes, kPageBytes));
  }
  changes->Put(Family::kChunks,
               ReceivedKey(key.resolution, HourOf(received), HeadKey(key)),
               EncodeShapes(shapes));
}

void DeleteChunk(const StoredChunk& chunk, Changes* changes) {
  changes->Delete(Family::kChunks, HeadKey(chunk.key));
  for (uint64_t page = 0; page < PagesOf(chunk.body_size); ++page) {
    changes->Delete(Family::kChunks, PageKey(chunk.key, page));
  }
  changes->Delete(Family::kChunks,
                  ReceivedKey(chunk.key.resolution, HourOf(chunk.received),
                              HeadKey(chunk.key)));
}

uint32_t HoursOfChunk(Resolution resolution) {
  switch (resolution) {
    case Resolution::kFull:
      return 1;
    case Resolution::kMinute:
      return 6;
    case Resolution::kHour:
      return 24;
  }
  return 1;
}

absl::Status ForEachChunk(
    rocksdb::Iterator* entry, uint32_t machine, Resolution resolution,
    uint32_t first_hour, uint32_t last_hour,
    absl::FunctionRef<absl::Status(StoredChunk)> use,
    absl::FunctionRef<void(const absl::Status&)> on_damage) {
  const auto seek = [&](uint32_t hour) {
    entry->Seek(
        HeadKey({.machine = machine, .resolution = resolution, .hour = hour}));
  };
  const std::string end = HeadKey({.machine = machine,
                                   .resolution = resolution,
                                   .hour = last_hour,
                                   .epoch_number = UINT32_MAX,
                                   .order = UINT64_MAX});
  uint32_t hour = first_hour - first_hour % HoursOfChunk(resolution);
  uint32_t skipped = 0;  // hours skipped since the last damage
  const ChunkKey first = {
      .machine = machine, .resolution = resolution, .hour = hour};
  // The iterator only passed keys before the first chunk.
  const bool is_there =
      entry->Valid() && ToView(entry->key()) >= HeadKey(first);
  if (!is_there) seek(hour);
  for (;;) {
    if (!entry->Valid()) {
      if (entry->status().ok()) return absl::OkStatus();
      const absl::Status status = FromRocksDb(entry->status(), "read chunks");
      if (!absl::IsDataLoss(status)) return status;
      // The extent of the damage is unknown. The search continues at the next
      // hour, then at doubling distances.
      if (skipped == 0) on_damage(status);
      skipped = skipped == 0 ? 1 : 2 * skipped;
      if (skipped > last_hour - hour) return absl::OkStatus();
      seek(hour += skipped);
      continue;
    }
    const absl::string_view key = ToView(entry->key());
    if (key > end) return absl::OkStatus();
    skipped = 0;
    ChunkKey chunk_key;
    if (!ParseHeadKey(key, &chunk_key)) {
      on_damage(DamagedRecord(key));
    } else if (auto chunk = ParseRecord(chunk_key, ToView(entry->value()));
               !chunk.ok()) {
      on_damage(chunk.status());
    } else {
      hour = std::max(hour, chunk_key.hour);
      RETURN_IF_ERROR(use(*std::move(chunk)));
    }
    entry->Next();
  }
}

absl::StatusOr<Chunk> OpenChunk(const Database& database,
                                const Snapshot* snapshot,
                                const StoredChunk& chunk) {
  return Chunk::Open(chunk.head, chunk.key.epoch_number,
                     BodyOf(database, snapshot, chunk));
}

Chunk::ReadBody BodyOf(const Database& database, const Snapshot* snapshot,
                       const StoredChunk& chunk) {
  const auto body = std::make_shared<BodyReader>(&database, snapshot, chunk);
  return [body](uint64_t offset, uint64_t size) {
    return body->Read(offset, size);
  };
}

absl::Time NewestReceived(const Database& database) {
  absl::Time newest = absl::InfinitePast();
  for (const Resolution resolution :
       {Resolution::kFull, Resolution::kMinute, Resolution::kHour}) {
    const auto last = LastHour(database, resolution);
    if (last.has_value()) newest = std::max(newest, StartOfHour(*last));
  }
  return newest;
}

absl::StatusOr<std::vector<ReceivedChunk>> LastReceived(
    const Database& database, uint32_t hours, OnDamage on_damage) {
  const uint32_t last = LastHour(database, Resolution::kFull).value_or(0);
  return ReceivedBetween(database, Resolution::kFull,
                         last >= hours ? last - hours + 1 : 0, UINT32_MAX,
                         on_damage);
}

absl::StatusOr<NumbersInUse> FindNumbersInUse(const Database& database,
                                              OnDamage on_damage) {
  NumbersInUse numbers;
  const absl::Status status = database.ForEach(
      Family::kChunks, "R",
      [&](absl::string_view key, absl::string_view value) {
        Received received;
        ChunkKey chunk;
        uint32_t machine = 0;
        uint32_t epoch = 0;
        uint64_t sequence = 0;
        if (!ParseReceivedKey(key, &received)) return;
        if (ParseHeadKey(received.key, &chunk)) {
          machine = chunk.machine;
          epoch = chunk.epoch_number;
          for (const uint32_t shape : DecodeShapes(value)) {
            numbers.collected.emplace(machine, shape);
          }
        } else if (!ParseLossesKey(received.key, &machine, &epoch) &&
                   !ParseFingerprintsKey(received.key, &epoch, &sequence)) {
          return;
        }
        numbers.last_machine = std::max(numbers.last_machine, machine);
        numbers.last_epoch = std::max(numbers.last_epoch, epoch);
      });
  if (!absl::IsDataLoss(status)) RETURN_IF_ERROR(status);
  if (!status.ok()) on_damage(status);
  return numbers;
}

absl::StatusOr<std::vector<ReceivedChunk>> FirstReceived(
    const Database& database, Resolution thinned, absl::Time time) {
  const auto resolution =
      static_cast<Resolution>(static_cast<uint8_t>(thinned) - 1);
  ASSIGN_OR_RETURN(const std::optional<uint32_t> first,
                   FirstHour(database, resolution));
  const uint32_t hours = HoursOfChunk(thinned);
  const uint32_t end = first.value_or(0) - first.value_or(0) % hours + hours;
  if (!first.has_value() || StartOfHour(end) > time) {
    return std::vector<ReceivedChunk>();
  }
  return ReceivedBetween(database, resolution, *first, end,
                         [](const absl::Status&) {});
}

void ListAs(Resolution resolution, const ReceivedChunk& chunk,
            Changes* changes) {
  Unlist(chunk, changes);
  changes->Put(
      Family::kChunks,
      ReceivedKey(resolution, HourOf(chunk.received), HeadKey(chunk.key)),
      EncodeShapes(chunk.shapes));
}

void Unlist(const ReceivedChunk& chunk, Changes* changes) {
  changes->Delete(
      Family::kChunks,
      ReceivedKey(chunk.listed, HourOf(chunk.received), HeadKey(chunk.key)));
}

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

uint64_t SizeOfChunks(const Database& database, uint32_t machine) {
  const ChunkKey first = {.machine = machine};
  const std::string heads = HeadKey(first).substr(0, 1 + sizeof machine);
  const std::string pages = PageKey(first, 0).substr(0, 1 + sizeof machine);
  return database.ApproximateSize(Family::kChunks, heads, EndOfPrefix(heads)) +
         database.ApproximateSize(Family::kChunks, pages, EndOfPrefix(pages));
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

absl::StatusOr<StoredChunk> GetChunk(const Database& database,
                                     const ChunkKey& key) {
  ASSIGN_OR_RETURN(const std::string record,
                   database.Get(Family::kChunks, HeadKey(key)));
  return ParseRecord(key, record);
}

}  // namespace fleetperf::aggregator
