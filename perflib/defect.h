// Defects in parsed bytes: reasons for rejection, or unusual but accepted
// content.

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
    kTruncated,     // the structure needs `value` bytes, but `limit` remain
    kTooSmall,      // the field is `value` and must be at least `limit`
    kTooLarge,      // the field is `value` and must be at most `limit`
    kNegative,      // the field is `value`, as int64_t, and must be at least
                    // `limit`, as int64_t
    kUnknown,       // the field is `value`, which is undefined
    kUnterminated,  // the string of `limit` bytes has no NUL
    // Unusual, but accepted:
    kUnaligned,     // the field is `value`, which is not a multiple of `limit`
    kUnused,        // the field has `value` bytes more than were parsed
    kContradicted,  // the field is `value`, but the type says `limit`
  };

  Problem problem;
  absl::string_view what;  // a literal: "PERF_COUNTER_HEADER.dwSize"
  size_t offset;           // of the structure, from the start of the input
  uint64_t value = 0;
  uint64_t limit = 0;

  // Returns "offset 48: PERF_COUNTER_HEADER.dwSize is 8, it must be at least
  // 16".
  std::string ToString() const;

  // Returns the same as an InvalidArgument error.
  absl::Status ToStatus() const;
};

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_DEFECT_H_
