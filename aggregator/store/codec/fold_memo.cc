#include "aggregator/store/codec/fold_memo.h"

namespace fleetperf::aggregator {

FoldMemo::~FoldMemo() {
  absl::MutexLock lock(&mutex_);
  budget_.Return(folds_.size() * kBytesOfFold);
}

std::optional<std::optional<RunFold>> FoldMemo::Find(size_t column,
                                                     size_t run) const {
  absl::MutexLock lock(&mutex_);
  const auto found = folds_.find({column, run});
  if (found == folds_.end()) return std::nullopt;
  return found->second;
}

void FoldMemo::Add(size_t column, size_t run,
                   const std::optional<RunFold>& fold) {
  absl::MutexLock lock(&mutex_);
  if (folds_.contains({column, run}) || !budget_.Take(kBytesOfFold)) return;
  folds_.emplace(Key(column, run), fold);
}

}  // namespace fleetperf::aggregator
