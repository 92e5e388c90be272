#include "aggregator/store/tables/chunk_table.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/received_index.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

constexpr uint64_t kPageBytes = 16 << 10;

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
  ListChunk({.key = key,
             .listed = key.resolution,
             .shapes = shapes,
             .received = received},
            changes);
}

void DeleteChunk(const StoredChunk& chunk, Changes* changes) {
  changes->Delete(Family::kChunks, HeadKey(chunk.key));
  for (uint64_t page = 0; page < PagesOf(chunk.body_size); ++page) {
    changes->Delete(Family::kChunks, PageKey(chunk.key, page));
  }
  Unlist({.key = chunk.key,
          .listed = chunk.key.resolution,
          .received = chunk.received},
         changes);
}

void DeletePages(const Database& database, const ChunkKey& key,
                 Changes* changes) {
  const auto entry = database.Iterate(Family::kChunks);
  const std::string last = PageKey(key, UINT32_MAX);
  for (entry->Seek(PageKey(key, 0));
       entry->Valid() && ToView(entry->key()) <= last; entry->Next()) {
    changes->Delete(Family::kChunks, ToView(entry->key()));
  }
}

absl::StatusOr<StoredChunk> GetChunk(const Database& database,
                                     const ChunkKey& key) {
  ASSIGN_OR_RETURN(const std::string record,
                   database.Get(Family::kChunks, HeadKey(key)));
  return ParseRecord(key, record);
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

uint64_t SizeOfChunks(const Database& database, uint32_t machine) {
  const ChunkKey first = {.machine = machine};
  const std::string heads = HeadKey(first).substr(0, 1 + sizeof machine);
  const std::string pages = PageKey(first, 0).substr(0, 1 + sizeof machine);
  return database.ApproximateSize(Family::kChunks, heads, EndOfPrefix(heads)) +
         database.ApproximateSize(Family::kChunks, pages, EndOfPrefix(pages));
}

}  // namespace fleetperf::aggregator
