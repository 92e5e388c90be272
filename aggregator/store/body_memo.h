// The parts of a chunk's body that were read.

#ifndef FLEETPERF_AGGREGATOR_STORE_BODY_MEMO_H_
#define FLEETPERF_AGGREGATOR_STORE_BODY_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/store/codec/byte_budget.h"

namespace fleetperf::aggregator {

// Keeps parts as far as the budget allows. A block of the database has the
// values of many counters, of which a question reads few. Thread-safe.
class BodyMemo {
 public:
  // The budget must outlive the object.
  explicit BodyMemo(ByteBudget* budget) : budget_(*budget) {}
  ~BodyMemo();
  BodyMemo(const BodyMemo&) = delete;
  BodyMemo& operator=(const BodyMemo&) = delete;

  // Returns a kept part. The result is valid as long as this object.
  std::optional<absl::string_view> Find(uint64_t offset, uint64_t size) const;
  // Keeps a part of at most 8 KiB if the budget has room for it. Overlapping
  // parts are kept separately.
  void Add(uint64_t offset, absl::string_view part);

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // offset and size

  ByteBudget& budget_;
  mutable absl::Mutex mutex_;
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<Key, std::unique_ptr<char[]>> parts_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_BODY_MEMO_H_
