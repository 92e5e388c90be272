// Whether a disk has room for more.
//
// A store that ran into a full disk could neither put in order nor remove what
// it has, and RocksDB's log cannot be written any more once a write of it
// failed. So some room is kept free of batches, and a little of any write.

#ifndef FLEETPERF_AGGREGATOR_STORE_TABLES_ROOM_H_
#define FLEETPERF_AGGREGATOR_STORE_TABLES_ROOM_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace fleetperf::aggregator {

enum class RoomFor {
  kBatches,  // leaves a hundredth of the file system, and 64 MiB at least
  kUpkeep,   // leaves 16 MiB
};

// ResourceExhausted, with what is free and why it is too little, if `bytes`
// more where `directory` is would not leave what is to be left.
absl::Status CheckRoom(const std::string& directory, uint64_t bytes,
                       RoomFor what);

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_TABLES_ROOM_H_
