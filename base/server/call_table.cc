#include "base/server/call_table.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace fleetperf {

CallTable& CallTable::OfProcess() {
  static CallTable* const table = new CallTable(&CallerQuota::OfProcess());
  return *table;
}

void CallTable::Begin(Call call, const std::string& caller, Cancel cancel) {
  absl::StatusOr<CallerQuota::Share> share =
      quota_.TryTake(Pool::kCalls, caller);
  absl::MutexLock lock(&mutex_);
  Entry& entry = calls_[call];
  entry = {.cancel = std::move(cancel), .since = clock_.Monotonic()};
  if (share.ok()) {
    entry.share = *std::move(share);
  } else {
    CancelOne(&entry, std::string(share.status().message()));
  }
}

void CallTable::End(Call call) {
  absl::MutexLock lock(&mutex_);
  calls_.erase(call);
}

void CallTable::Work(Call call) {
  absl::MutexLock lock(&mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end() || !found->second.is_waiting) return;
  Entry& entry = found->second;
  const absl::Duration now = clock_.Monotonic();
  entry.is_waiting = false;
  entry.waited += now - entry.since;
  entry.since = now;
}

void CallTable::Wait(Call call) {
  absl::MutexLock lock(&mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end() || found->second.is_waiting) return;
  found->second.is_waiting = true;
  found->second.since = clock_.Monotonic();
}

void CallTable::CancelStalled() {
  absl::MutexLock lock(&mutex_);
  const absl::Duration now = clock_.Monotonic();
  for (auto& [call, entry] : calls_) {
    if (!entry.is_waiting || entry.cancel == nullptr) continue;
    const absl::Duration wait = now - entry.since;
    if (wait <= kMaxCallWait && entry.waited + wait <= kMaxCallWaits) continue;
    ++stalled_;
    CancelOne(&entry, absl::StrCat("the client kept the call waiting for ",
                                   absl::FormatDuration(wait > kMaxCallWait
                                                            ? kMaxCallWait
                                                            : kMaxCallWaits),
                                   wait > kMaxCallWait ? "" : " in all",
                                   "; read the answer as it arrives"));
  }
}

void CallTable::CancelOne(Entry* entry, const std::string& message) {
  std::exchange(entry->cancel, nullptr)(message);
}

CallTable::Counts CallTable::counts() const {
  absl::MutexLock lock(&mutex_);
  return {.calls = calls_.size(),
          .refused = quota_.counts(Pool::kCalls).refused,
          .stalled = stalled_};
}

}  // namespace fleetperf
