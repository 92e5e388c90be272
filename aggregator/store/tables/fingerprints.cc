#include "aggregator/store/tables/fingerprints.h"

#include <string>

#include "aggregator/store/tables/keys.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

constexpr size_t kFingerprintSize = sizeof(uint64_t);

}  // namespace

void PutFingerprints(uint32_t epoch_number,
                     const std::vector<LoggedBatch>& batches,
                     Changes* changes) {
  for (size_t i = 0; i < batches.size();) {
    std::string fingerprints;
    const uint64_t first = batches[i].sequence;
    for (uint64_t next = first;
         i < batches.size() && batches[i].sequence == next; ++i, ++next) {
      fingerprints += BigEndian(batches[i].fingerprint);
    }
    const std::string key = FingerprintsKey(epoch_number, first);
    changes->Put(Family::kDefault, key, fingerprints);
    changes->Put(
        Family::kChunks,
        ReceivedKey(Resolution::kHour, HourOf(batches.back().received), key),
        "");
  }
}

absl::StatusOr<std::optional<uint64_t>> FingerprintInChunk(
    const Database& database, uint32_t epoch_number, uint64_t sequence) {
  const PrefixIterator entry = database.IteratePrefix(
      Family::kDefault, FingerprintsPrefix(epoch_number));
  entry->SeekForPrev(FingerprintsKey(epoch_number, sequence));
  RETURN_IF_ERROR(FromRocksDb(entry->status(), "read fingerprints"));
  if (!entry->Valid()) return std::nullopt;
  absl::string_view fingerprints = ToView(entry->value());
  uint32_t epoch_of_first = 0;
  uint64_t first = 0;
  if (!ParseFingerprintsKey(ToView(entry->key()), &epoch_of_first, &first) ||
      fingerprints.size() % kFingerprintSize != 0) {
    return DamagedRecord(ToView(entry->key()));
  }
  const uint64_t place = sequence - first;
  if (place >= fingerprints.size() / kFingerprintSize) return std::nullopt;
  fingerprints.remove_prefix(place * kFingerprintSize);
  uint64_t fingerprint = 0;
  GetBigEndian(&fingerprints, &fingerprint);
  return fingerprint;
}

absl::StatusOr<bool> IsInChunk(const Database& database, uint32_t epoch_number,
                               uint64_t sequence, uint64_t fingerprint) {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> kept,
                   FingerprintInChunk(database, epoch_number, sequence));
  return kept == fingerprint;
}

}  // namespace fleetperf::aggregator
