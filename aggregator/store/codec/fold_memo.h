// The folds of a chunk's runs that were calculated from the samples, because
// the chunk does not have them (see HasRunFold).

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_FOLD_MEMO_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_FOLD_MEMO_H_

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "aggregator/store/codec/byte_budget.h"
#include "aggregator/store/codec/fold.h"

namespace fleetperf::aggregator {

// Keeps folds as far as the budget allows. Thread-safe.
class FoldMemo {
 public:
  // The budget must outlive the object.
  explicit FoldMemo(ByteBudget* budget) : budget_(*budget) {}
  ~FoldMemo();
  FoldMemo(const FoldMemo&) = delete;
  FoldMemo& operator=(const FoldMemo&) = delete;

  // The bytes that a fold takes of the budget.
  static constexpr size_t kBytesOfFold = 128;

  // `column` is numbered in the chunk, `run` in its section. A column has one
  // FoldKind. Returns std::nullopt if nothing is known of the run; the inner
  // std::nullopt means that the run cannot be folded.
  std::optional<std::optional<RunFold>> Find(size_t column, size_t run) const;
  void Add(size_t column, size_t run, const std::optional<RunFold>& fold);

 private:
  using Key = std::pair<size_t, size_t>;  // column and run

  ByteBudget& budget_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Key, std::optional<RunFold>> folds_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_FOLD_MEMO_H_
