// Writes a block as PerfQueryCounterData returns it: what the Linux sources
// hand to the reader, and what tests are made of.

#ifndef FLEETPERF_PERFLIB_BLOCK_WRITER_H_
#define FLEETPERF_PERFLIB_BLOCK_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/clocks.h"
#include "perflib/layout.h"

namespace fleetperf::perflib {

// Replaces the contents of a string, whose memory it reuses, by one block:
//
//   BlockWriter writer(clocks, &bytes);
//   writer.BeginResult(HeaderType::kCounterset, ids);
//   writer.BeginInstance(Utf16FromUtf8("0,0"), 0);
//   writer.AddValue64(idle);  // one value per id
//   writer.EndResult();
//   writer.Finish();
//
// The caller keeps that order. A result that is begun must be ended before the
// next.
class BlockWriter {
 public:
  BlockWriter(const Clocks& clocks, std::string* bytes);

  // A query that failed with a Win32 error code.
  void AddErrorReturn(uint32_t status);

  // Begins a result of any other type. `counter_ids` is used by
  // kMultipleCounters and kCounterset alone.
  void BeginResult(HeaderType type,
                   absl::Span<const uint32_t> counter_ids = {});
  // kMultipleInstances and kCounterset: begins an instance, whose values
  // follow. The name is UTF-16 without NUL.
  void BeginInstance(absl::string_view utf16_name, uint32_t instance_id);
  void AddValue32(uint32_t value);
  void AddValue64(uint64_t value);
  // A PERF_COUNTER_DATA of any size; only 4 and 8 bytes are numbers.
  void AddValueBytes(absl::string_view data);
  void EndResult();

  // Sets the block's size and count. Nothing may be added afterwards.
  void Finish();

 private:
  void AppendPadding();

  std::string& bytes_;
  uint32_t num_results_ = 0;
  size_t result_start_ = 0;  // of the PERF_COUNTER_HEADER
  // Of the PERF_MULTI_INSTANCES, 0 if the result has none.
  size_t instance_list_start_ = 0;
  uint32_t num_instances_ = 0;
};

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_BLOCK_WRITER_H_
