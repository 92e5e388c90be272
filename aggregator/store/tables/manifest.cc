#include "aggregator/store/tables/manifest.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "aggregator/store/tables/copy_file.h"
#include "aggregator/store/tables/wal_file.h"
#include "base/coding.h"
#include "base/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {
namespace {

// RocksDB's fields of a change of the database, as of 7.8 and 9.10. Tags with
// kMayBeIgnored have a string.
constexpr uint64_t kMayBeIgnored = 1 << 13;
enum Tag : uint64_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFileNumber = 3,
  kLastSequence = 4,
  kCompactCursor = 5,
  kDeletedFile = 6,
  kPreviousLogNumber = 9,
  kMinLogNumberToKeep = 10,
  kNewFile = 103,
  kColumnFamily = 200,
  kColumnFamilyAdd = 201,
  kColumnFamilyDrop = 202,
  kMaxColumnFamily = 203,
  kInAtomicGroup = 300,
};
constexpr uint64_t kEndOfNewFile = 1;
// RocksDB 9 writes an empty change.
constexpr size_t kMinChangeSize = 0;

bool GetString(absl::string_view* from) {
  uint64_t size = 0;
  if (!GetVarint(from, &size) || size > from->size()) return false;
  from->remove_prefix(size);
  return true;
}

bool GetNewFile(absl::string_view* from, ListedFile* file) {
  uint64_t level = 0;
  uint64_t ignored = 0;
  if (!GetVarint(from, &level) || !GetVarint(from, &file->number) ||
      !GetVarint(from, &file->size) || !GetString(from) ||  // the smallest key
      !GetString(from) ||                                   // the largest key
      !GetVarint(from, &ignored) ||                         // the first change
      !GetVarint(from, &ignored)) {                         // the last change
    return false;
  }
  file->level = static_cast<uint32_t>(level);
  for (uint64_t tag = 0;;) {
    if (!GetVarint(from, &tag)) return false;
    if (tag == kEndOfNewFile) return true;
    if (!GetString(from)) return false;
  }
}

class ManifestReader {
 public:
  // Returns false if RocksDB did not write the change.
  bool Take(absl::string_view change) {
    uint64_t family = 0;
    std::vector<uint64_t> deleted;
    std::vector<ListedFile> added;
    while (!change.empty()) {
      uint64_t tag = 0;
      uint64_t number = 0;
      if (!GetVarint(&change, &tag)) return false;
      bool is_valid = false;
      switch (tag) {
        case kColumnFamily:
          is_valid = GetVarint(&change, &family);
          break;
        case kDeletedFile:
          is_valid = GetVarint(&change, &number) && GetVarint(&change, &number);
          deleted.push_back(number);
          break;
        case kNewFile:
          is_valid = GetNewFile(&change, &added.emplace_back());
          break;
        case kCompactCursor:
          is_valid = GetVarint(&change, &number) && GetString(&change);
          break;
        case kColumnFamilyDrop:
          is_valid = true;
          break;
        case kComparator:
        case kColumnFamilyAdd:
          is_valid = GetString(&change);
          break;
        case kLastSequence:
          is_valid = GetVarint(&change, &number);
          last_change_ = std::max(last_change_, number);
          break;
        case kLogNumber:
        case kNextFileNumber:
        case kPreviousLogNumber:
        case kMinLogNumberToKeep:
        case kMaxColumnFamily:
        case kInAtomicGroup:
          is_valid = GetVarint(&change, &number);
          break;
        default:
          is_valid = (tag & kMayBeIgnored) != 0 && GetString(&change);
      }
      if (!is_valid) return false;
    }
    for (const uint64_t number : deleted) files_.erase(number);
    for (ListedFile& file : added) {
      file.family = static_cast<uint32_t>(family);
      files_[file.number] = file;
    }
    return true;
  }

  std::vector<ListedFile> Files() const {
    std::vector<ListedFile> files;
    for (const auto& [number, file] : files_) files.push_back(file);
    return files;
  }

  uint64_t last_change() const { return last_change_; }

 private:
  std::map<uint64_t, ListedFile> files_;  // by number
  uint64_t last_change_ = 0;
};

}  // namespace

std::string NameOf(const ListedFile& file) {
  return absl::StrFormat("%06d.sst", file.number);
}

absl::StatusOr<std::string> FindManifest(const std::string& directory) {
  const std::string current = absl::StrCat(directory, "/CURRENT");
  const auto contents = ReadFile(current);
  if (absl::IsNotFound(contents.status())) {
    return absl::DataLossError(absl::StrCat(current, " is missing"));
  }
  RETURN_IF_ERROR(contents.status());
  absl::string_view name = *contents;
  if (!absl::ConsumeSuffix(&name, "\n") ||
      !absl::StartsWith(name, "MANIFEST-") || absl::StrContains(name, '/')) {
    return absl::DataLossError(absl::StrCat(current, " is damaged"));
  }
  const std::string path = absl::StrCat(directory, "/", name);
  if (!FileExists(path)) {
    return absl::DataLossError(
        absl::StrCat(path, ", which CURRENT names, is missing"));
  }
  return path;
}

absl::Status WriteCurrent(const std::string& directory,
                          const std::string& manifest) {
  const absl::string_view name =
      absl::StripPrefix(manifest, absl::StrCat(directory, "/"));
  RETURN_IF_ERROR(
      WriteFile(absl::StrCat(directory, "/CURRENT"), absl::StrCat(name, "\n")));
  return SyncDirectory(directory);
}

absl::StatusOr<Manifest> ReadManifest(const std::string& path) {
  ManifestReader reader;
  bool has_gap = false;
  const absl::Status damaged =
      absl::DataLossError(absl::StrCat(path, " is damaged"));
  RETURN_IF_ERROR(ReadWalFile(
      path,
      [&](uint64_t, absl::string_view change) {
        return reader.Take(change) ? absl::OkStatus() : damaged;
      },
      [&](const WalRange&, bool) { has_gap = true; }, kMinChangeSize));
  if (has_gap) return damaged;
  return Manifest{.path = path, .files = reader.Files()};
}

absl::StatusOr<ManifestEnd> ReadManifestEnd(const std::string& path) {
  ManifestReader reader;
  ManifestEnd end;
  RETURN_IF_ERROR(ReadWalFile(
      path,
      [&](uint64_t, absl::string_view change) {
        if (end.damaged_at.has_value() || reader.Take(change)) {
          return absl::OkStatus();
        }
        return absl::UnimplementedError(
            absl::StrCat(path, " has a record of an unknown kind"));
      },
      [&](const WalRange& gap, bool) {
        if (!end.damaged_at.has_value()) end.damaged_at = gap.offset;
      },
      kMinChangeSize));
  end.files = reader.Files();
  end.last_change = reader.last_change();
  return end;
}

absl::Status RemoveFiles(const Manifest& manifest,
                         const std::vector<ListedFile>& files) {
  ASSIGN_OR_RETURN(std::string contents, ReadFile(manifest.path));
  for (const ListedFile& file : files) {
    std::string change;
    PutVarint(kColumnFamily, &change);
    PutVarint(file.family, &change);
    PutVarint(kDeletedFile, &change);
    PutVarint(file.level, &change);
    PutVarint(file.number, &change);
    AppendWalRecord(change, &contents);
  }
  return WriteFile(manifest.path, contents);
}

}  // namespace fleetperf::aggregator
