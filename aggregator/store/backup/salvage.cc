#include "aggregator/store/backup/salvage.h"

#include <rocksdb/sst_file_writer.h>

#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "aggregator/store/tables/rocksdb_options.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Keys are compared up to this size in the search for the end of damage.
constexpr size_t kSearchedBytes = 64;

// A key as a number of kSearchedBytes digits of base 256.
class Place {
 public:
  explicit Place(std::string key) : digits_(std::move(key)) {
    digits_.resize(kSearchedBytes, '\0');
  }
  const std::string& key() const { return digits_; }

  // Returns the place 2^bit further; std::nullopt beyond the last one.
  std::optional<Place> Plus(size_t bit) const {
    Place sum = *this;
    unsigned carry = 1u << bit % 8;
    for (size_t i = kSearchedBytes - bit / 8; carry > 0; carry >>= 8) {
      if (i == 0) return std::nullopt;
      --i;
      carry += static_cast<uint8_t>(sum.digits_[i]);
      sum.digits_[i] = static_cast<char>(carry & 0xFF);
    }
    return sum;
  }

 private:
  std::string digits_;
};

// Returns the first place after `from` at which the iterator reads a key or
// finds the end; std::nullopt if there is none. The places before it cannot be
// read. Several damaged blocks may count as one.
std::optional<Place> EndOfDamage(rocksdb::Iterator* entry, Place from) {
  const auto is_readable = [&](const std::optional<Place>& place) {
    if (!place.has_value()) return false;
    entry->Seek(place->key());
    return entry->status().ok();
  };
  constexpr size_t kBits = kSearchedBytes * 8;
  size_t bit = 0;
  while (bit < kBits && !is_readable(from.Plus(bit))) ++bit;
  if (bit == kBits) return std::nullopt;
  // The largest unreadable place, from its highest bit down.
  while (bit-- > 0) {
    const std::optional<Place> next = from.Plus(bit);
    if (!is_readable(next)) from = *next;
  }
  return from.Plus(0);
}

std::string TextOf(absl::string_view key) {
  return absl::StrCat("\"", absl::CHexEscape(key), "\"");
}

}  // namespace

absl::StatusOr<Salvage> SalvageFamily(const Database& database, Family family,
                                      const std::string& path) {
  const auto options = FamilyOptions()[static_cast<size_t>(family)].options;
  rocksdb::SstFileWriter writer(
      rocksdb::EnvOptions(), rocksdb::Options(rocksdb::DBOptions(), options));
  Salvage salvage;
  const auto entry = database.Iterate(family);
  std::string last;
  entry->SeekToFirst();
  for (;;) {
    for (; entry->Valid(); entry->Next()) {
      if (salvage.keys++ == 0) {
        RETURN_IF_ERROR(FromRocksDb(writer.Open(path), "write a file"));
      }
      last = entry->key().ToString();
      RETURN_IF_ERROR(FromRocksDb(writer.Put(entry->key(), entry->value()),
                                  "write a file"));
    }
    const absl::Status status = FromRocksDb(entry->status(), "read");
    if (status.ok()) break;
    if (!absl::IsDataLoss(status)) return status;
    const std::optional<Place> end = EndOfDamage(entry.get(), Place(last));
    const std::string lost = absl::StrCat(
        "cannot read the keys of the family \"",
        database.family(family)->GetName(), "\" after ", TextOf(last));
    if (!end.has_value()) {
      salvage.lost.push_back(lost);
      break;
    }
    entry->Seek(end->key());
    salvage.lost.push_back(
        entry->Valid()
            ? absl::StrCat(lost, " and before ", TextOf(ToView(entry->key())))
            : lost);
  }
  if (salvage.keys > 0) {
    RETURN_IF_ERROR(FromRocksDb(writer.Finish(), "write a file"));
  }
  return salvage;
}

}  // namespace fleetperf::aggregator
