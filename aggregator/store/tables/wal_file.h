// Reads the files of RocksDB's write-ahead log without RocksDB, whose own
// recovery stops at damage or skips it without reporting where it is.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_FILE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

// Returns the paths of the log files of the database in `directory`, by their
// numbers, which order them.
absl::StatusOr<std::map<uint64_t, std::string>> FindWalFiles(
    const std::string& directory);

// A range of bytes in a file.
struct WalRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Calls `on_record` with each write of a file and its offset. `write` is the
// serialized rocksdb::WriteBatch. RocksDB's MANIFEST files have the same
// format. Calls `on_gap` with each range between writes that is not a valid
// write: its checksum is wrong, or it is cut off. `blank` says whether all
// bytes of the gap are zero. Calls are in file order. Stops at the first error
// of `on_record`, and returns it.
absl::Status ReadWalFile(
    const std::string& path,
    absl::FunctionRef<absl::Status(uint64_t offset, absl::string_view write)>
        on_record,
    absl::FunctionRef<void(const WalRange& gap, bool blank)> on_gap);

// Appends a write to `file`, the contents of a log file so far.
void AppendWalRecord(absl::string_view write, std::string* file);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_FILE_H_
