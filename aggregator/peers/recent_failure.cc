#include "aggregator/peers/recent_failure.h"

#include "base/backoff.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kFirstPause = absl::Seconds(5);
constexpr absl::Duration kLongestPause = absl::Seconds(30);
// After this time, another caller may ask: the first one may be gone. Calls
// that report their end take less.
constexpr absl::Duration kAttempt = absl::Seconds(6);

}  // namespace

RecentFailure::RecentFailure(const Clock* clock)
    : clock_(*clock),
      backoff_(std::make_unique<Backoff>(kFirstPause, kLongestPause)) {}

RecentFailure::~RecentFailure() = default;

absl::Status RecentFailure::Check() {
  absl::MutexLock lock(&mutex_);
  if (failure_.ok()) return absl::OkStatus();
  const absl::Duration now = clock_.Monotonic();
  if (now < next_attempt_) return failure_;
  next_attempt_ = now + kAttempt;
  has_attempt_ = true;
  return absl::OkStatus();
}

void RecentFailure::Clear() {
  absl::MutexLock lock(&mutex_);
  failure_ = absl::OkStatus();
  has_attempt_ = false;
  backoff_->Reset();
}

void RecentFailure::Set(const absl::Status& failure) {
  absl::MutexLock lock(&mutex_);
  // Calls that began together count once.
  if (failure_.ok() || has_attempt_) {
    next_attempt_ = clock_.Monotonic() + backoff_->Next();
  }
  failure_ = failure;
  has_attempt_ = false;
}

}  // namespace fleetperf::aggregator
