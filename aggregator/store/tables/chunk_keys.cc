#include "aggregator/store/tables/chunk_keys.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/coding.h"

namespace fleetperf::aggregator {
namespace {

std::string Encode(const ChunkKey& key) {
  return absl::StrCat(
      BigEndian(key.machine), BigEndian(static_cast<uint8_t>(key.resolution)),
      BigEndian(key.hour), BigEndian(key.epoch_number), BigEndian(key.order));
}

}  // namespace

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

std::string HeadKey(const ChunkKey& key) {
  return absl::StrCat("H", Encode(key));
}
std::string PageKey(const ChunkKey& key, uint64_t page) {
  return absl::StrCat("P", Encode(key), BigEndian(static_cast<uint32_t>(page)));
}

bool ParseHeadKey(absl::string_view key, ChunkKey* chunk) {
  uint8_t resolution = 0;
  if (!absl::ConsumePrefix(&key, "H") || !GetBigEndian(&key, &chunk->machine) ||
      !GetBigEndian(&key, &resolution) || !GetBigEndian(&key, &chunk->hour) ||
      !GetBigEndian(&key, &chunk->epoch_number) ||
      !GetBigEndian(&key, &chunk->order) || !key.empty()) {
    return false;
  }
  chunk->resolution = static_cast<Resolution>(resolution);
  return resolution <= static_cast<uint8_t>(Resolution::kHour);
}

bool ParseReceivedKey(absl::string_view key, Received* received) {
  uint8_t resolution = 0;
  if (!absl::ConsumePrefix(&key, "R") || !GetBigEndian(&key, &resolution) ||
      !GetBigEndian(&key, &received->hour)) {
    return false;
  }
  received->key = key;
  ChunkKey chunk;
  return absl::StartsWith(key, "H") ? ParseHeadKey(key, &chunk) : !key.empty();
}

std::string EndOfReceived(Resolution resolution) {
  return absl::StrCat(
      "R",
      BigEndian(static_cast<uint8_t>(static_cast<uint8_t>(resolution) + 1)));
}

}  // namespace fleetperf::aggregator
