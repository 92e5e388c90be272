// The names of PerfLib V1: the values "Counter 009" and "Help 009".

#ifndef FLEETPERF_PERFLIB_V1_NAMES_H_
#define FLEETPERF_PERFLIB_V1_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace fleetperf::perflib {

// The texts by title index. Immutable, so thread-safe.
class V1Names {
 public:
  V1Names() = default;

  // Parses a REG_MULTI_SZ: pairs of index and text, in UTF-16. Pairs whose
  // index is not a decimal number, and the first, (1, the highest index), are
  // left out; of equal indexes, the first counts. A text without NUL ends the
  // table. Memory and time are linear in bytes.size().
  static V1Names Read(absl::string_view bytes);

  // Returns an error that names the offset of a text without NUL. Then only the
  // pairs before it are known.
  const absl::Status& status() const { return status_; }

  // Returns "" if there is no such index.
  absl::string_view Find(uint32_t index) const;

  // By index.
  const absl::btree_map<uint32_t, std::string>& all() const { return texts_; }

  bool operator==(const V1Names&) const = default;

 private:
  absl::btree_map<uint32_t, std::string> texts_;  // UTF-8
  absl::Status status_;
};

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_V1_NAMES_H_
