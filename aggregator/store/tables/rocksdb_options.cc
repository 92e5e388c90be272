#include "aggregator/store/tables/rocksdb_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <memory>

#include "aggregator/store/tables/keys.h"
#include "base/log.h"

namespace fleetperf::aggregator {
namespace {

// The size of the cache for blocks of the store.
constexpr size_t kCacheBytes = size_t{64} << 20;

rocksdb::ColumnFamilyOptions OptionsOf(
    Family family, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // So that a damaged index can be rebuilt: see sst_index.h.
  table.enable_index_compression = false;
  switch (family) {
    case Family::kDefault:
    case Family::kTimes:
      options.compression = rocksdb::kLZ4Compression;
      options.write_buffer_size = size_t{16} << 20;
      break;
    case Family::kLog:
      // Payloads are already compressed. They are removed after minutes,
      // usually before they are written to a file.
      options.compression = rocksdb::kNoCompression;
      options.write_buffer_size = size_t{64} << 20;
      break;
    case Family::kChunks:
      // Chunks are already compressed. Each page of a chunk has its own block.
      options.compression = rocksdb::kNoCompression;
      options.write_buffer_size = size_t{64} << 20;
      table.block_size = 16 * 1024;
      break;
  }
  // Damaged data cannot be compacted with new data. This must not stop new
  // writes.
  options.level0_slowdown_writes_trigger = 200;
  options.level0_stop_writes_trigger = 1000;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Receives RocksDB's own log. A log file next to the database would fail with
// the disk, and RocksDB 7.8 would fail with the log.
class RocksDbLog : public rocksdb::Logger {
 public:
  RocksDbLog() : rocksdb::Logger(rocksdb::WARN_LEVEL) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    LogDebug("rocksdb: ", text);
  }
};

}  // namespace

rocksdb::DBOptions CommonOptions() {
  rocksdb::DBOptions options;
  options.info_log = std::make_shared<RocksDbLog>();
  // The manifest records the size of each closed log.
  options.track_and_verify_wals_in_manifest = true;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> FamilyOptions() {
  const auto cache = rocksdb::NewLRUCache(kCacheBytes);
  return {
      {rocksdb::kDefaultColumnFamilyName, OptionsOf(Family::kDefault, cache)},
      {"log", OptionsOf(Family::kLog, cache)},
      {"times", OptionsOf(Family::kTimes, cache)},
      {"chunks", OptionsOf(Family::kChunks, cache)}};
}

}  // namespace fleetperf::aggregator
