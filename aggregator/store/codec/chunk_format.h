// The version and limits of the format of chunks, and checks that all parsers
// of it share. docs/reference/store.md has the layout.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_FORMAT_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_FORMAT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/coding.h"

namespace fleetperf::aggregator {

// The version of the format. A chunk of another version is damaged.
inline constexpr uint64_t kChunkVersion = 1;
// The largest size of the tables and indexes in a head: as much as one read of
// the body would take.
inline constexpr uint64_t kMaxIndexesInHead = 16 << 10;
// The maximum size of a chunk's body, in bytes. A chunk that claims more is
// damaged.
inline constexpr uint64_t kMaxBodySize = UINT32_MAX;

// The maximum number of runs of a section.
inline constexpr uint64_t kMaxRuns = uint64_t{1} << 24;

inline absl::Status DamagedChunk(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("damaged chunk in the store: ", what));
}

// Consumes a number from the front of `from`. Returns false if there is none,
// or if it exceeds `max`.
inline bool GetCount(absl::string_view* from, uint64_t max, uint64_t* count) {
  return GetVarint(from, count) && *count <= max;
}

// Returns whether the numbers strictly ascend and all are less than `end`.
inline bool Ascend(const std::vector<uint64_t>& numbers, uint64_t end) {
  return (numbers.empty() || numbers.back() < end) &&
         std::adjacent_find(numbers.begin(), numbers.end(),
                            std::greater_equal<>()) == numbers.end();
}

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_CHUNK_FORMAT_H_
