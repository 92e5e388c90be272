#include "aggregator/store/tables/received_index.h"

#include <algorithm>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/loss_table.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/coding.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

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

std::string EncodeShapes(const std::vector<uint32_t>& shapes) {
  std::string record;
  for (const uint32_t shape : shapes) PutVarint(shape, &record);
  return record;
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

}  // namespace

void ListChunk(const ReceivedChunk& chunk, Changes* changes) {
  changes->Put(
      Family::kChunks,
      ReceivedKey(chunk.listed, HourOf(chunk.received), HeadKey(chunk.key)),
      EncodeShapes(chunk.shapes));
}

void ListAs(Resolution resolution, const ReceivedChunk& chunk,
            Changes* changes) {
  Unlist(chunk, changes);
  ReceivedChunk coarser = chunk;
  coarser.listed = resolution;
  ListChunk(coarser, changes);
}

void Unlist(const ReceivedChunk& chunk, Changes* changes) {
  changes->Delete(
      Family::kChunks,
      ReceivedKey(chunk.listed, HourOf(chunk.received), HeadKey(chunk.key)));
}

absl::StatusOr<std::vector<ReceivedChunk>> LastReceived(
    const Database& database, uint32_t hours, OnDamage on_damage) {
  const uint32_t last = LastHour(database, Resolution::kFull).value_or(0);
  return ReceivedBetween(database, Resolution::kFull,
                         last >= hours ? last - hours + 1 : 0, UINT32_MAX,
                         on_damage);
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

absl::Time NewestReceived(const Database& database) {
  absl::Time newest = absl::InfinitePast();
  for (const Resolution resolution : kResolutions) {
    const auto last = LastHour(database, resolution);
    if (last.has_value()) newest = std::max(newest, StartOfHour(*last));
  }
  return newest;
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
        } else if (ParseLossesKey(received.key, &machine, &epoch)) {
          numbers.collected.emplace(machine, 0);
        } else if (!ParseFingerprintsKey(received.key, &epoch, &sequence)) {
          return;
        }
        numbers.last_epoch = std::max(numbers.last_epoch, epoch);
      });
  if (!absl::IsDataLoss(status)) RETURN_IF_ERROR(status);
  if (!status.ok()) on_damage(status);
  return numbers;
}

absl::StatusOr<std::optional<uint32_t>> FirstHour(const Database& database,
                                                  Resolution resolution) {
  const auto entry = database.Iterate(Family::kChunks);
  entry->Seek(ReceivedKey(resolution, /*hour=*/0, ""));
  const std::optional<uint32_t> hour = NextHour(*entry, resolution);
  if (!hour.has_value()) {
    RETURN_IF_ERROR(FromRocksDb(entry->status(), "read chunks"));
  }
  return hour;
}

std::optional<uint32_t> NextHour(rocksdb::Iterator& entry,
                                 Resolution resolution) {
  Received received;
  for (; entry.Valid() && ToView(entry.key()) < EndOfReceived(resolution);
       entry.Next()) {
    if (ParseReceivedKey(ToView(entry.key()), &received)) return received.hour;
  }
  return std::nullopt;
}

}  // namespace fleetperf::aggregator
