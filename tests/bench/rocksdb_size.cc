#include "tests/bench/rocksdb_size.h"

#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/options_util.h>

#include <memory>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::bench {
namespace {

using Families = std::vector<rocksdb::ColumnFamilyHandle*>;

absl::Status FromRocksDb(const rocksdb::Status& status,
                         const std::string& directory) {
  if (status.ok()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(directory, ": ", status.ToString()));
}

std::map<std::string, uint64_t> SizesOf(rocksdb::DB& database,
                                        const Families& families) {
  std::map<std::string, uint64_t> sizes;
  for (rocksdb::ColumnFamilyHandle* family : families) {
    rocksdb::ColumnFamilyMetaData metadata;
    database.GetColumnFamilyMetaData(family, &metadata);
    sizes[family->GetName()] = metadata.size + metadata.blob_file_size;
  }
  return sizes;
}

}  // namespace

absl::StatusOr<RocksDbSize> MeasureRocksDb(const std::string& directory) {
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  RETURN_IF_ERROR(FromRocksDb(
      rocksdb::LoadLatestOptions({}, directory, &options, &descriptors),
      directory));
  for (rocksdb::ColumnFamilyDescriptor& descriptor : descriptors) {
    descriptor.options.disable_auto_compactions = true;
  }
  Families families;
  rocksdb::DB* opened = nullptr;
  RETURN_IF_ERROR(FromRocksDb(
      rocksdb::DB::Open(options, directory, descriptors, &families, &opened),
      directory));
  const std::unique_ptr<rocksdb::DB> database(opened);
  const absl::Cleanup destroy_families = [&] {
    for (rocksdb::ColumnFamilyHandle* family : families) {
      database->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    }
  };
  RocksDbSize size = {.before_compaction = SizesOf(*database, families)};
  rocksdb::CompactRangeOptions everything;
  everything.bottommost_level_compaction =
      rocksdb::BottommostLevelCompaction::kForceOptimized;
  for (rocksdb::ColumnFamilyHandle* family : families) {
    RETURN_IF_ERROR(FromRocksDb(
        database->CompactRange(everything, family, nullptr, nullptr),
        directory));
  }
  size.compacted = SizesOf(*database, families);
  return size;
}

}  // namespace fleetperf::bench
