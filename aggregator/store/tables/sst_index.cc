#include "aggregator/store/tables/sst_index.h"

#include <rocksdb/comparator.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "aggregator/store/tables/sst_blocks.h"
#include "base/coding.h"
#include "base/os/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

absl::Status DamagedElsewhere(const std::string& path) {
  return absl::DataLossError(
      absl::StrCat(path, " is damaged outside of its index"));
}

// Returns the key in the database of an internal key.
std::string KeyOf(const std::string& internal_key) {
  return internal_key.substr(0, internal_key.size() - kSstChangeSize);
}

// Encodes an index as RocksDB does with the options of FamilyOptions(): for
// each block, a short key that separates it from the next one, and its place;
// then the offsets of these entries. Returns std::nullopt if a key has changes
// in two blocks: then the index has internal keys, which depend on RocksDB's
// version.
std::optional<std::string> EncodeIndex(const std::vector<SstBlock>& blocks) {
  std::string index;
  std::string offsets;
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::string separator = KeyOf(blocks[i].last_key);
    if (i + 1 < blocks.size()) {
      const std::string next = KeyOf(blocks[i + 1].first_key);
      if (separator == next) return std::nullopt;
      std::string shorter = separator;
      rocksdb::BytewiseComparator()->FindShortestSeparator(&shorter, next);
      if (shorter.size() <= separator.size()) separator = shorter;
    }
    PutLittleEndian(index.size(), 4, &offsets);
    PutVarint(0, &index);  // bytes shared with the separator before
    PutBytes(separator, &index);
    PutVarint(blocks[i].offset, &index);
    PutVarint(blocks[i].size, &index);
  }
  PutLittleEndian(blocks.size(), 4, &offsets);
  return absl::StrCat(index, offsets);
}

// Returns the offset, from `begin` on, where the file has the index, of which
// most bytes are as in `index`. Versions of RocksDB name it in different ways.
std::optional<size_t> FindIndex(absl::string_view file, size_t begin,
                                absl::string_view index) {
  constexpr size_t kCompared = 256;  // bytes, evenly spread
  const size_t step = std::max<size_t>(index.size() / kCompared, 1);
  size_t most = index.size() / step / 2;
  std::optional<size_t> found;
  for (size_t at = begin; at + index.size() + kSstTrailerSize <= file.size();
       ++at) {
    size_t equal = 0;
    for (size_t i = 0; i < index.size(); i += step) {
      equal += file[at + i] == index[i] ? 1 : 0;
    }
    if (equal <= most) continue;
    most = equal;
    found = at;
  }
  return found;
}

// Tries each checksum that differs in one byte, because the damage may be in
// the checksum. `path` has the contents `file`.
absl::Status RepairChecksum(const std::string& path, size_t checksum,
                            std::string* file) {
  std::fstream stream(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](size_t at, char byte) {
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte).flush();
  };
  for (size_t at = checksum; at < checksum + kSstTrailerSize - 1; ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      put(at, static_cast<char>(byte));
      const absl::Status status = CheckSst(path);
      if (absl::IsDataLoss(status)) continue;
      RETURN_IF_ERROR(status);
      (*file)[at] = static_cast<char>(byte);
      return WriteFile(path, *file);  // and syncs it
    }
    put(at, (*file)[at]);
  }
  return DamagedElsewhere(path);
}

// Returns DataLoss, and leaves the file, if more than its index is damaged.
absl::Status RebuildSstIndex(const std::string& path, const std::string& kept) {
  ASSIGN_OR_RETURN(std::string file, ReadFile(path));
  const std::vector<SstBlock> blocks = ReadSstBlocks(file);
  const auto index = EncodeIndex(blocks);
  if (blocks.empty() || !index.has_value()) return DamagedElsewhere(path);
  const SstBlock& last = blocks.back();
  const auto place =
      FindIndex(file, last.offset + last.size + kSstTrailerSize, *index);
  if (!place.has_value()) return DamagedElsewhere(path);
  const bool is_changed = file.compare(*place, index->size(), *index) != 0;
  const size_t trailer = *place + index->size();
  file.replace(*place, index->size(), *index);
  file[trailer] = 0;  // not compressed
  const std::string rebuilt = absl::StrCat(path, ".rebuilt");
  const absl::Cleanup remove = [&] { RemoveFile(rebuilt).IgnoreError(); };
  RETURN_IF_ERROR(WriteFile(rebuilt, file));
  absl::Status status = CheckSst(rebuilt);
  if (absl::IsDataLoss(status) && !is_changed) {
    status = RepairChecksum(rebuilt, trailer + 1, &file);
  }
  if (absl::IsDataLoss(status)) return DamagedElsewhere(path);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(KeepFile(path, kept));
  RETURN_IF_ERROR(RenameFile(rebuilt, path));
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

}  // namespace

absl::Status CheckSst(const std::string& path) {
  rocksdb::SstFileReader reader{rocksdb::Options()};
  return FromRocksDb(reader.Open(path), "read a file");
}

absl::Status VerifySst(const std::string& path) {
  rocksdb::SstFileReader reader{rocksdb::Options()};
  rocksdb::Status status = reader.Open(path);
  if (status.ok()) status = reader.VerifyChecksum();
  return FromRocksDb(status, "read a file");
}

absl::StatusOr<std::vector<std::string>> RebuildSstIndexes(
    const std::string& directory, const std::string& kept) {
  ASSIGN_OR_RETURN(const auto entries, ListDirectory(directory));
  std::vector<std::string> rebuilt;
  for (const DirectoryEntry& entry : entries) {
    const std::string path = absl::StrCat(directory, "/", entry.name);
    if (!absl::EndsWith(path, ".sst") || !absl::IsDataLoss(CheckSst(path))) {
      continue;
    }
    const absl::Status status = RebuildSstIndex(path, kept);
    if (absl::IsDataLoss(status)) continue;
    RETURN_IF_ERROR(status);
    rebuilt.push_back(path);
  }
  return rebuilt;
}

}  // namespace fleetperf::aggregator
