// Conversions between the types of RocksDB and those of the store.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_ROCKSDB_CONVERSIONS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_ROCKSDB_CONVERSIONS_H_

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

inline rocksdb::Slice ToSlice(absl::string_view text) {
  return rocksdb::Slice(text.data(), text.size());
}
inline absl::string_view ToView(const rocksdb::Slice& slice) {
  return absl::string_view(slice.data(), slice.size());
}

// Converts a RocksDB status. `action` completes the message "the store cannot
// ...". Errors: ResourceExhausted if the disk is full, DataLoss if data is
// damaged, NotFound, otherwise Unavailable.
absl::Status FromRocksDb(const rocksdb::Status& status,
                         absl::string_view action);

// The error for a database in `directory` that RocksDB cannot open. DataLoss if
// it is damaged, else FailedPrecondition.
absl::Status CannotOpen(const std::string& directory,
                        const rocksdb::Status& status);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_ROCKSDB_CONVERSIONS_H_
