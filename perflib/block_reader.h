// Reads a block: the bytes that PerfQueryCounterData returned.
//
// A block is untrusted: whoever wrote the provider wrote its sizes, and the API
// checks none of them. The reader compares every size, count and offset with
// the bytes that remain before it uses it. What is in bounds is read; what is
// not is rejected, and reading goes on at the next sibling whose place is still
// certain. So one bad instance costs at most the rest of its query, and one bad
// query none of the others.

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
  // Whether it was read to its end: all its instances are here, though some may
  // lack a value.
  bool complete = false;

  // kMultipleCounters and kCounterset: the ids of the columns. Otherwise empty:
  // one column, its id is in the query.
  Slice counter_ids;
  // kMultipleInstances and kCounterset: the instances. Otherwise empty: one
  // nameless row.
  Slice instances;
  // Instance by instance, in each one value per column. Shorter than that if
  // not complete: the rest could not be read.
  Slice values;
};

struct InstanceView {
  uint32_t instance_id = 0;
  uint32_t name_offset = 0;  // of the UTF-16 name
  uint32_t name_size = 0;    // in bytes, without the NUL
};

// In ParsedBlock::value_sizes: the value's place was certain, but it reached
// beyond its PERF_COUNTER_DATA.
inline constexpr uint32_t kRejectedValue = 0xFFFFFFFF;

// A block as flat arrays. Meant to be kept and read into again: then it
// allocates nothing in the steady state. Views the bytes it was read from,
// which must outlive it.
class ParsedBlock {
 public:
  absl::string_view bytes;
  bool has_header = false;  // false: nothing could be read at all
  PerfDataHeader header = {};
  std::vector<QueryResult> results;
  std::vector<uint32_t> counter_ids;
  std::vector<InstanceView> instances;
  std::vector<uint64_t> values;       // 0 where there is none
  std::vector<uint32_t> value_sizes;  // dwDataSize: 4 and 8 are numbers; with
                                      // any other size there is no value

  // What was rejected: the first kMaxDefects of them, and how many in all.
  static constexpr size_t kMaxDefects = 16;
  std::vector<Defect> defects;
  uint64_t defect_count = 0;

  // In bounds but unusual, and read: bytes left over, sizes that are no
  // multiple of 8. The first kMaxDefects of them, and how many in all.
  std::vector<Defect> warnings;
  uint64_t warning_count = 0;

  Clocks clocks() const {
    return {header.perf_time_stamp, header.perf_time_100nsec, header.perf_freq};
  }

  absl::Span<const uint32_t> CounterIds(const QueryResult& result) const;
  absl::Span<const InstanceView> Instances(const QueryResult& result) const;
  absl::Span<const uint64_t> Values(const QueryResult& result) const;
  absl::Span<const uint32_t> ValueSizes(const QueryResult& result) const;

  // The name's UTF-16 bytes, which identify the instance; and the name for
  // people.
  absl::string_view NameBytes(const InstanceView& instance) const;
  std::string Name(const InstanceView& instance) const;

  // Empties the arrays and keeps their memory.
  void Clear();
};

// Reads `bytes` into `block`, replacing what it held. Bytes beyond the block's
// own size are ignored. `block->defects` says what was rejected; if the
// PERF_DATA_HEADER itself is, there are no results. Memory stays within a small
// multiple of bytes.size(), and time is linear in it, whatever the bytes say.
void ReadBlock(absl::string_view bytes, ParsedBlock* block);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_BLOCK_READER_H_
