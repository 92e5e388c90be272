// What is wrong with bytes that a reader of this folder refused, or unusual
// about bytes that it read.

#ifndef FLEETPERF_PERFLIB_DEFECT_H_
#define FLEETPERF_PERFLIB_DEFECT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

struct Defect {
  enum class Problem : uint8_t {
    kTruncated,     // the structure needs `value` bytes and `limit` remain
    kTooSmall,      // the field is `value` and must be at least `limit`
    kTooLarge,      // the field is `value` and must be at most `limit`
    kUnknown,       // the field is `value`, which has no meaning
    kUnterminated,  // the string of `limit` bytes has no NUL
    // Unusual, no reason to refuse anything:
    kUnaligned,  // the field is `value`, which is no multiple of `limit`
    kUnused,     // the field is larger by `value` bytes than what was read
  };

  Problem problem;
  absl::string_view what;  // a literal: "PERF_COUNTER_HEADER.dwSize"
  size_t offset;           // of the structure, from the start of the input
  uint64_t value = 0;
  uint64_t limit = 0;

  // "offset 48: PERF_COUNTER_HEADER.dwSize is 8, it must be at least 16"
  std::string ToString() const;

  // The same as an InvalidArgument error.
  absl::Status ToStatus() const;
};

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_DEFECT_H_
