#include "aggregator/store/backup/salvage.h"

#include <rocksdb/sst_file_writer.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "aggregator/store/tables/rocksdb_options.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// Keys are compared up to this size in the search for the end of damage.
constexpr size_t kSearchedBytes = 64;

std::string WithBit(std::string key, size_t bit, bool value) {
  const int mask = 0x80 >> bit % 8;
  char& byte = key[bit / 8];
  byte = static_cast<char>(value ? byte | mask : byte & ~mask);
  return key;
}

// Returns the first key after `key`, behind which damage begins, at which an
// iterator reads a key or finds the end; std::nullopt if there is none. Several
// damaged blocks may count as one.
std::optional<std::string> EndOfDamage(const Database& database, Family family,
                                       std::string key) {
  constexpr size_t kBits = kSearchedBytes * 8;
  key.resize(kSearchedBytes, '\0');
  const auto is_readable = [&](const std::string& at) {
    const auto entry = database.Iterate(family);
    entry->Seek(at);
    return entry->status().ok();
  };
  // Keys are compared as numbers. From the last bit to the first, each 0
  // becomes 1 until the key can be read.
  size_t bit = kBits;
  bool is_found = false;
  while (!is_found && bit > 0) {
    std::string next = WithBit(key, --bit, true);
    is_found = next != key && is_readable(next);
    key = std::move(next);
  }
  if (!is_found) return std::nullopt;
  // The end has this bit. Finds the bits behind it, from the highest down.
  std::string end = key;
  for (size_t i = bit + 1; i < kBits; ++i) key = WithBit(key, i, false);
  if (is_readable(key)) return key;
  while (++bit < kBits) {
    std::string next = WithBit(key, bit, true);
    (is_readable(next) ? end : key) = std::move(next);
  }
  return end;
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
  // An iterator that has found damage may keep the error.
  auto entry = database.Iterate(family);
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
    const std::optional<std::string> end = EndOfDamage(database, family, last);
    std::string& lost = salvage.lost.emplace_back(absl::StrCat(
        "cannot read the keys of the family \"",
        database.family(family)->GetName(), "\" after ", TextOf(last)));
    if (!end.has_value()) break;
    entry = database.Iterate(family);
    entry->Seek(*end);
    if (entry->Valid()) {
      absl::StrAppend(&lost, " and before ", TextOf(ToView(entry->key())));
    }
  }
  if (salvage.keys > 0) {
    RETURN_IF_ERROR(FromRocksDb(writer.Finish(), "write a file"));
  }
  return salvage;
}

}  // namespace fleetperf::aggregator
