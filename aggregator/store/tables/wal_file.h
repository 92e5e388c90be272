// The files of RocksDB's write-ahead log, read without RocksDB: its own
// recovery ends at, or passes over, what is damaged, and does not say where.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_FILE_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

struct WalFile {
  uint64_t number = 0;  // they are in this order
  std::string path;
};

// Those of the database in `directory`, in their order; none if there is no
// such directory.
absl::StatusOr<std::vector<WalFile>> FindWalFiles(const std::string& directory);

// A part of a file.
struct WalRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Calls `on_record` with each write of a file, as a rocksdb::WriteBatch has it
// and where it begins, and `on_gap` with what is between them and is none: a
// write whose checksum is wrong, or that is cut off. A gap that is all zeros
// is `blank`. In the file's order; ends early with an error of `on_record`.
absl::Status ReadWalFile(
    const std::string& path,
    absl::FunctionRef<absl::Status(uint64_t offset, absl::string_view write)>
        on_record,
    absl::FunctionRef<void(const WalRange& gap, bool blank)> on_gap);

// A number of up to eight bytes, as RocksDB writes them.
uint64_t LittleEndian(absl::string_view bytes);

// Appends writes to the contents of a file, whose size is `file->size()`.
void AppendWalRecord(absl::string_view write, std::string* file);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_WAL_FILE_H_
