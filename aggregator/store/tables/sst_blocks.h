// Reads the blocks of data of RocksDB's files of keys and values without their
// index.
//
// Such a file begins with its blocks of data, in the order of their keys. An
// index, other blocks and a footer follow:
//
//   data 0 | data 1 | ... | data n | filter | index | properties | ... | footer
//
// RocksDB opens no file whose index or footer is damaged, although its blocks
// of data are sound.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_SST_BLOCKS_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_SST_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

// A block of data. Keys are internal keys: the key in the database and, in the
// last eight bytes, the number of the change and its kind.
struct SstBlock {
  uint64_t offset = 0;
  uint64_t size = 0;  // in the file, without the trailer
  std::string first_key;
  std::string last_key;
};

// After each block: the kind of its compression, and its checksum.
inline constexpr size_t kSstTrailerSize = 5;
// The end of an internal key.
inline constexpr size_t kSstChangeSize = 8;

// An entry of a file.
struct SstEntry {
  absl::string_view key;  // in the database
  uint64_t change = 0;    // the number of the change
  bool is_value = false;  // else the key was deleted
  absl::string_view value;
};

// Returns the blocks of data of a file with the contents `file`, up to the
// first one that does not have the form of a block. Calls `use` with each entry
// before that. Verifies no checksum.
std::vector<SstBlock> ReadSstBlocks(
    absl::string_view file,
    absl::FunctionRef<void(const SstEntry&)> use = [](const SstEntry&) {});

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_SST_BLOCKS_H_
