// Parses a block: the bytes returned by PerfQueryCounterData.
//
// A block is untrusted: its sizes come from the provider, and the API checks
// none of them.
//
// Invariants:
// - Every size, count and offset is checked against the remaining bytes before
//   it is used.
// - A structure out of bounds is rejected. Parsing continues at the next
//   sibling whose position is still certain.
// - One bad instance therefore costs at most the rest of its query, and one bad
//   query none of the others.
// - Memory and time are linear in the size of the input, whatever counts it
//   claims.

#ifndef FLEETPERF_PERFLIB_BLOCK_READER_H_
#define FLEETPERF_PERFLIB_BLOCK_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/clocks.h"
#include "perflib/defect.h"
#include "perflib/layout.h"

namespace fleetperf::perflib {

// Part of one of the arrays of a ParsedBlock.
struct Slice {
  uint32_t begin = 0;
  uint32_t count = 0;
};

// The result of one query, in the order of the block.
struct QueryResult {
  uint32_t offset = 0;  // of its PERF_COUNTER_HEADER
  uint32_t status = 0;  // dwStatus
  HeaderType type = HeaderType::kErrorReturn;
  // Whether the result was parsed to its end: all its instances are present,
  // though some may lack a value.
  bool complete = false;

  // kMultipleCounters and kCounterset: the ids of the columns. Otherwise empty:
  // there is one column, whose id is in the query.
  Slice counter_ids;
  // kMultipleInstances and kCounterset: the instances. Otherwise empty: there
  // is one nameless row.
  Slice instances;
  // The values by instance, one per column in each. If the result is not
  // complete, the values that could not be parsed are missing at the end.
  Slice values;
};

struct InstanceView {
  uint32_t instance_id = 0;
  uint32_t name_offset = 0;  // of the UTF-16 name
  uint32_t name_size = 0;    // in bytes, without the NUL
};

// An entry of ParsedBlock::value_sizes: the value's position was certain, but
// the value extends beyond its PERF_COUNTER_DATA.
inline constexpr uint32_t kRejectedValue = 0xFFFFFFFF;

// A block as flat arrays. Reusing an object avoids allocations in the steady
// state. Views the parsed bytes, which must outlive it. Thread-compatible.
class ParsedBlock {
 public:
  absl::string_view bytes;
  bool has_header = false;  // false: nothing could be parsed
  PerfDataHeader header = {};
  std::vector<QueryResult> results;
  std::vector<uint32_t> counter_ids;
  std::vector<InstanceView> instances;
  std::vector<uint64_t> values;       // 0 if there is no value
  std::vector<uint32_t> value_sizes;  // dwDataSize: 4 and 8 are numbers; with
                                      // any other size there is no value

  // Rejected structures: the first kMaxDefects, and the total number.
  static constexpr size_t kMaxDefects = 16;
  std::vector<Defect> defects;
  uint64_t defect_count = 0;

  // Structures in bounds but unusual, which were parsed: leftover bytes, sizes
  // that are not a multiple of 8. The first kMaxDefects, and the total number.
  std::vector<Defect> warnings;
  uint64_t warning_count = 0;

  Clocks clocks() const {
    return {header.perf_time_stamp, header.perf_time_100nsec, header.perf_freq};
  }

  absl::Span<const uint32_t> CounterIds(const QueryResult& result) const;
  absl::Span<const InstanceView> Instances(const QueryResult& result) const;
  absl::Span<const uint64_t> Values(const QueryResult& result) const;
  absl::Span<const uint32_t> ValueSizes(const QueryResult& result) const;

  // The UTF-16 bytes of the name, which identify the instance, and the name for
  // display.
  absl::string_view NameBytes(const InstanceView& instance) const;
  std::string Name(const InstanceView& instance) const;

  // Clears the arrays but keeps their memory.
  void Clear();
};

// Parses `bytes` into `block`, replacing its contents. Bytes beyond the block's
// own size are ignored. Rejected structures are listed in `block->defects`. If
// the PERF_DATA_HEADER itself is rejected, there are no results. Memory is
// bounded by a small multiple of bytes.size(), and time is linear in it.
void ReadBlock(absl::string_view bytes, ParsedBlock* block);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_BLOCK_READER_H_
