// Writes a block in the format of PerfQueryCounterData. Used by Linux sources
// and tests.

#ifndef FLEETPERF_PERFLIB_BLOCK_WRITER_H_
#define FLEETPERF_PERFLIB_BLOCK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/clocks.h"
#include "perflib/layout.h"

namespace fleetperf::perflib {

// Replaces the contents of a string with one block, reusing its memory:
//
//   BlockWriter writer(clocks, &bytes);
//   writer.BeginResult(HeaderType::kCounterset, ids);
//   writer.BeginInstance(Utf16FromUtf8("0,0"), 0);
//   writer.AddValue64(idle);  // one value per id
//   writer.EndResult();
//   writer.Finish();
//
// The calls must be in this order. A result must be ended before the next one
// begins.
class BlockWriter {
 public:
  BlockWriter(const Clocks& clocks, std::string* bytes);

  // Adds a query that failed with a Win32 error code.
  void AddErrorReturn(uint32_t status);

  // Begins a result of any other type. Only kMultipleCounters and kCounterset
  // use `counter_ids`.
  void BeginResult(HeaderType type,
                   absl::Span<const uint32_t> counter_ids = {});
  // kMultipleInstances and kCounterset: begins an instance, whose values
  // follow. The name is UTF-16 without NUL.
  void BeginInstance(absl::string_view utf16_name, uint32_t instance_id);
  void AddValue32(uint32_t value);
  void AddValue64(uint64_t value);
  // Adds a PERF_COUNTER_DATA of any size; only 4 and 8 bytes are numbers.
  void AddValueBytes(absl::string_view data);
  void EndResult();
  // Instead of EndResult: discards the result, and adds a query that failed
  // with a Win32 error code.
  void FailResult(uint32_t status);

  // Returns the bytes written so far. Sizes in a block are u32, so a block that
  // is larger is not valid.
  size_t size() const { return bytes_.size(); }

  // Sets the block's size and count. Must be the last call.
  void Finish();

 private:
  void AppendPadding();

  std::string& bytes_;
  uint32_t num_results_ = 0;
  size_t result_start_ = 0;  // of the PERF_COUNTER_HEADER
  // The position of the PERF_MULTI_INSTANCES; 0 if the result has none.
  size_t instance_list_start_ = 0;
  uint32_t num_instances_ = 0;
};

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_BLOCK_WRITER_H_
