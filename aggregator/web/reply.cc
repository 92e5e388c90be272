#include "aggregator/web/reply.h"

#include <algorithm>

#include "aggregator/web/http_response.h"

namespace fleetperf::aggregator::web {

void Reply::Add(Part part) {
  {
    absl::MutexLock lock(&mutex_);
    if (is_closed_ || finished_.has_value()) return;
    waiting_bytes_ += part.bytes->size();
    parts_.push_back(std::move(part));
  }
  wake_();
}

void Reply::Send(std::string bytes) {
  Add({.bytes = std::make_shared<const std::string>(std::move(bytes))});
}

void Reply::SendShared(Bytes bytes, uint64_t values, uint64_t lagged) {
  Add({.bytes = std::move(bytes),
       .values = values,
       .lagged = lagged,
       .may_drop = true});
}

absl::Status Reply::SendAndWait(std::string bytes) {
  Send(std::move(bytes));
  absl::MutexLock lock(&mutex_);
  const absl::Duration begin = clock_.Monotonic();
  const auto may_go_on = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_closed_ || waiting_bytes_ <= kMaxWaitingBytes;
  };
  const bool in_time = changed_.Await(
      &mutex_, std::min(kMaxWait, kMaxWaits - waited_), may_go_on);
  waited_ += clock_.Monotonic() - begin;
  if (is_closed_) return absl::CancelledError("the client is gone");
  if (in_time) return absl::OkStatus();
  return absl::DeadlineExceededError("the client reads too slowly");
}

void Reply::Finish(bool keeps_connection) {
  {
    absl::MutexLock lock(&mutex_);
    if (finished_.has_value()) return;
    finished_ = keeps_connection;
  }
  wake_();
}

void Reply::Fail(const absl::Status& error, bool keeps_connection) {
  Send(ErrorResponse(HttpStatusOf(error), error, keeps_connection));
  Finish(keeps_connection);
}

Reply::Dropped Reply::Drop() {
  absl::MutexLock lock(&mutex_);
  Dropped dropped;
  size_t bytes = 0;
  std::erase_if(parts_, [&](const Part& part) {
    if (!part.may_drop) return false;
    dropped.values += part.values;
    dropped.lagged += part.lagged;
    bytes += part.bytes->size();
    return true;
  });
  waiting_bytes_ -= bytes;
  return dropped;
}

std::function<void()> Reply::TakeListener() {
  if (waiting_bytes_ > notify_below_) return nullptr;
  return std::exchange(listener_, nullptr);
}

void Reply::NotifyBelow(size_t bytes, std::function<void()> listener) {
  std::function<void()> due;
  {
    absl::MutexLock lock(&mutex_);
    notify_below_ = bytes;
    listener_ = std::move(listener);
    due = TakeListener();
  }
  if (due) due();
}

void Reply::NotifyClosed(std::function<void()> listener) {
  {
    absl::MutexLock lock(&mutex_);
    if (!is_closed_) {
      closed_listener_ = std::move(listener);
      return;
    }
  }
  listener();
}

size_t Reply::waiting_bytes() const {
  absl::MutexLock lock(&mutex_);
  return waiting_bytes_;
}

size_t Reply::untaken_bytes() const {
  absl::MutexLock lock(&mutex_);
  return waiting_bytes_ - taken_bytes_;
}

bool Reply::is_closed() const {
  absl::MutexLock lock(&mutex_);
  return is_closed_;
}

Reply::Bytes Reply::Take() {
  std::function<void()> due;
  Bytes bytes;
  {
    absl::MutexLock lock(&mutex_);
    waiting_bytes_ -= std::exchange(taken_bytes_, 0);
    if (!parts_.empty()) {
      bytes = std::move(parts_.front().bytes);
      parts_.pop_front();
      taken_bytes_ = bytes->size();
    }
    due = TakeListener();
    changed_.Notify();
  }
  if (due) due();
  return bytes;
}

std::optional<bool> Reply::finished() const {
  absl::MutexLock lock(&mutex_);
  return parts_.empty() ? finished_ : std::nullopt;
}

void Reply::Close() {
  std::function<void()> closed;
  {
    absl::MutexLock lock(&mutex_);
    is_closed_ = true;
    parts_.clear();
    waiting_bytes_ = 0;
    taken_bytes_ = 0;
    listener_ = nullptr;
    closed = std::exchange(closed_listener_, nullptr);
    changed_.Notify();
  }
  if (closed) closed();
}

}  // namespace fleetperf::aggregator::web
