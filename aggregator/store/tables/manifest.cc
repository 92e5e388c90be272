#include "aggregator/store/tables/manifest.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "aggregator/store/tables/rocksdb_conversions.h"
#include "aggregator/store/tables/rocksdb_options.h"
#include "aggregator/store/tables/wal_file.h"
#include "base/os/files.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::StatusOr<Listing> ListFiles(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string path, FindManifest(directory));
  Listing listing{.manifest = path};
  RETURN_IF_ERROR(ReadWalFile(
      path, [](uint64_t, absl::string_view) { return absl::OkStatus(); },
      [&](const WalRange& gap, bool) {
        if (!listing.damage.has_value()) listing.damage = gap.offset;
      }));
  ASSIGN_OR_RETURN(const std::string contents, ReadFile(path));
  const std::string name = std::filesystem::path(path).filename();
  // A database in memory that has the MANIFEST and nothing else.
  const std::unique_ptr<rocksdb::Env> memory(
      rocksdb::NewMemEnv(rocksdb::Env::Default()));
  const std::string scratch = "/listing";
  const auto write = [&](const std::string& file, const std::string& bytes) {
    return FromRocksDb(
        rocksdb::WriteStringToFile(memory.get(), bytes,
                                   absl::StrCat(scratch, "/", file)),
        "list its files");
  };
  RETURN_IF_ERROR(FromRocksDb(memory->CreateDirIfMissing(scratch), "list"));
  RETURN_IF_ERROR(write(name, contents));
  RETURN_IF_ERROR(write("CURRENT", absl::StrCat(name, "\n")));
  rocksdb::DBOptions options;
  options.env = memory.get();
  options.info_log = CommonOptions().info_log;
  options.paranoid_checks = false;  // accepts that all files are missing
  // A start may have ended before it made all families.
  options.create_missing_column_families = true;
  options.skip_stats_update_on_db_open = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> families = FamilyOptions();
  for (auto& family : families) family.options.disable_auto_compactions = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(options, scratch, families, &handles, &opened);
  if (!status.ok()) return CannotOpen(directory, status);
  const std::unique_ptr<rocksdb::DB> database(opened);
  listing.last_change = database->GetLatestSequenceNumber();
  database->GetLiveFilesMetaData(&listing.files);
  for (auto* handle : handles) database->DestroyColumnFamilyHandle(handle);
  return listing;
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
  if (FileExists(path)) return path;
  return absl::DataLossError(
      absl::StrCat(path, ", which CURRENT names, is missing"));
}

bool HasData(const std::string& directory) {
  const auto entries = ListDirectory(directory);
  if (!entries.ok()) return false;
  return std::any_of(entries->begin(), entries->end(),
                     [](const DirectoryEntry& entry) {
                       absl::string_view name = entry.name;
                       uint64_t number = 0;
                       return (absl::ConsumeSuffix(&name, ".sst") ||
                               absl::ConsumeSuffix(&name, ".log")) &&
                              absl::SimpleAtoi(name, &number);
                     });
}

}  // namespace fleetperf::aggregator
