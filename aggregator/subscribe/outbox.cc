#include "aggregator/subscribe/outbox.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {
namespace {

// The limit of values in a message, far below the limits of clients.
constexpr size_t kMaxMessageValues = 20'000;

size_t CountValues(const FeedUpdate& update) {
  size_t count = 0;
  for (const SeriesValues& values : update.values) count += values.count();
  return count;
}

// Returns the bytes that an update with this number of values takes, about.
// Several outboxes may share it; each counts it, because each of them may be
// the last that holds it.
size_t CountBytes(const FeedUpdate& update, size_t values) {
  constexpr size_t kOfSeries = 512;
  constexpr size_t kOfValue = 32;
  return kOfSeries * update.values.size() + kOfValue * values +
         sizeof(uint32_t) * update.ended.size();
}

SeriesValues NewestOf(const SeriesValues& values) {
  SeriesValues newest{.series = values.series,
                      .is_weighted = values.is_weighted,
                      .interval = values.interval};
  const int last = values.points.values_size() - 1;
  if (last >= 0) {
    newest.points = PickPoints(values.points, [&](int i) { return i == last; });
  } else {
    newest.raw.set_series(values.raw.series());
    *newest.raw.add_samples() = *values.raw.samples().rbegin();
  }
  return newest;
}

}  // namespace

void Outbox::SetListener(std::function<void()> listener) {
  absl::MutexLock lock(&mutex_);
  listener_ = std::move(listener);
}

void Outbox::SetDrainedListener(std::function<void()> listener) {
  absl::MutexLock lock(&mutex_);
  drained_listener_ = std::move(listener);
}

bool Outbox::HasNothingToSend() const {
  const bool has_news = has_begun_ && live_machines_.has_value();
  return waiting_.empty() && !begins_ && !has_news;
}

bool Outbox::IsEmpty() const { return HasNothingToSend() && !end_.has_value(); }

void Outbox::Change(absl::FunctionRef<void()> change) {
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mutex_);
    if (end_.has_value()) return;
    const bool was_empty = IsEmpty();
    change();
    if (was_empty && !IsEmpty()) listener = listener_;
  }
  if (listener) listener();
}

void Outbox::Add(std::shared_ptr<const FeedUpdate> update) {
  Put(std::move(update), /*is_history=*/false);
}

void Outbox::AddHistory(std::shared_ptr<const FeedUpdate> update) {
  Put(std::move(update), /*is_history=*/true);
}

void Outbox::Put(std::shared_ptr<const FeedUpdate> update, bool is_history) {
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto chosen = chooser_.Choose(std::move(update), is_history);
    if (chosen->empty()) return;
    const size_t values = CountValues(*chosen);
    values_ += values;
    if (is_history) kept_ += values;
    const size_t bytes = CountBytes(*chosen, values);
    bytes_ += bytes;
    waiting_.push_back({chosen, /*is_kept=*/is_history, values, bytes});
    defers_history_ |= values_ > kMaxValues / 2;
    if (values_ - kept_ > kMaxValues) LeaveOutOld();
    TakeMemory(/*is_kept=*/is_history);
  });
}

void Outbox::SetFirst(v1::SubscribeResponse first) {
  absl::MutexLock lock(&mutex_);
  first_ = std::move(first);
}

void Outbox::Begin() {
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    begins_ = true;
    has_begun_ = true;
  });
}

void Outbox::SetLiveMachines(const v1::LiveMachines& machines) {
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    live_machines_ = machines;
  });
}

void Outbox::End(const absl::Status& status) {
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { end_ = status; });
}

bool Outbox::IsFullOfHistory() const {
  absl::MutexLock lock(&mutex_);
  return defers_history_ || end_.has_value();
}

bool Outbox::has_end() const {
  absl::MutexLock lock(&mutex_);
  return end_.has_value();
}

void Outbox::SetMemory(CallerQuota::Share memory) {
  absl::MutexLock lock(&mutex_);
  memory_ = std::move(memory);
}

void Outbox::SetHeld(size_t bytes) {
  absl::MutexLock lock(&mutex_);
  held_ = bytes;
  memory_.Force(HeldBytes());
}

int64_t Outbox::HeldBytes() const {
  constexpr size_t kOfKnownSeries = 16;
  return static_cast<int64_t>(bytes_ + held_ + kOfKnownSeries * known_.size());
}

void Outbox::TakeMemory(bool is_kept) {
  if (memory_.Resize(HeldBytes())) return;
  if (!is_kept) {
    LeaveOutLive();
  } else if (memory_.others() > memory_.limit() / 2) {
    // The stored values of one subscription alone may be more.
    waiting_.clear();
    values_ = kept_ = bytes_ = 0;
    end_ = absl::ResourceExhaustedError(absl::StrCat(
        "the subscriptions with this certificate hold ", memory_.others() >> 20,
        " MiB of values that were not read, of ", memory_.limit() >> 20,
        " MiB; read them as they arrive, or select fewer series"));
  }
  memory_.Force(HeldBytes());
}

// Replaces all live updates by one with the newest value of each series.
void Outbox::LeaveOutOld() {
  std::shared_ptr<FeedUpdate> kept = JoinLive(/*drops_all=*/false);
  const size_t values = kept->values.size();
  const size_t bytes = CountBytes(*kept, values);
  bytes_ += bytes;
  waiting_.push_back({std::move(kept), /*is_kept=*/false, values, bytes});
}

void Outbox::LeaveOutLive() {
  std::shared_ptr<FeedUpdate> ends = JoinLive(/*drops_all=*/true);
  // No message has named the others, or will.
  if (kept_ == 0) {
    std::erase_if(ends->ended,
                  [this](uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                    return !known_.contains(id);
                  });
  }
  if (ends->ended.empty() && ends->lagged == 0) return;
  const size_t bytes = CountBytes(*ends, /*values=*/0);
  bytes_ += bytes;
  waiting_.push_back({std::move(ends), /*is_kept=*/false, 0, bytes});
}

std::shared_ptr<FeedUpdate> Outbox::JoinLive(bool drops_all) {
  auto kept = std::make_shared<FeedUpdate>();
  absl::flat_hash_set<uint32_t> seen;
  size_t left = 0;
  while (!waiting_.empty() && !waiting_.back().is_kept) {
    const Waiting last = std::move(waiting_.back());
    waiting_.pop_back();
    const FeedUpdate& update = *last.update;
    kept->lagged += update.lagged;
    left += last.values;
    bytes_ -= last.bytes;
    // A series with a later value has not ended.
    for (const uint32_t id : update.ended) {
      if (seen.insert(id).second) kept->ended.push_back(id);
    }
    for (auto values = update.values.rbegin(); values != update.values.rend();
         ++values) {
      if (!seen.insert(values->series->id()).second || drops_all) continue;
      kept->values.push_back(NewestOf(*values));
      --left;
    }
  }
  std::reverse(kept->values.begin(), kept->values.end());
  lagged_ += left;
  values_ -= left;
  return kept;
}

bool Outbox::Take(Message* message) {
  v1::SubscribeResponse* const response = &message->response;
  response->Clear();
  message->encoded_values.clear();
  std::function<void()> drained;
  {
    absl::MutexLock lock(&mutex_);
    if (HasNothingToSend()) return false;
    begins_ = false;
    response->Swap(&first_);
    first_.Clear();
    if (live_machines_.has_value()) {
      *response->mutable_live_machines() = *std::move(live_machines_);
      live_machines_.reset();
    }
    // A message has no values of a series after its end.
    for (size_t values = 0; !waiting_.empty() && values < kMaxMessageValues &&
                            response->ended().empty();
         waiting_.pop_front()) {
      const Waiting& first = waiting_.front();
      values += first.values;
      values_ -= first.values;
      bytes_ -= first.bytes;
      if (first.is_kept) kept_ -= first.values;
      Move(*first.update, message);
    }
    memory_.Force(HeldBytes());
    response->set_lagged(response->lagged() + std::exchange(lagged_, 0));
    if (has_begun_ && kept_ == 0 && !std::exchange(has_sent_history_, true)) {
      response->set_history_sent(true);
    }
    if (known_.size() > kMaxSeries && !end_.has_value()) {
      end_ = absl::ResourceExhaustedError(
          absl::StrCat("the subscription has more than ", kMaxSeries,
                       " series; select fewer"));
    }
    if (defers_history_ && values_ < kMaxValues / 4) {
      defers_history_ = false;
      drained = drained_listener_;
    }
  }
  if (drained) drained();
  return true;
}

void Outbox::Move(const FeedUpdate& update, Message* message) {
  v1::SubscribeResponse& response = message->response;
  response.set_lagged(response.lagged() + update.lagged);
  const bool is_encoded = update.encoded_values != nullptr;
  if (is_encoded) message->encoded_values.push_back(update.encoded_values);
  for (const SeriesValues& values : update.values) {
    if (known_.insert(values.series->id()).second) {
      *response.add_series() = *values.series;
    }
    if (is_encoded) continue;
    if (values.points.values_size() > 0) {
      *response.add_points() = values.points;
    } else {
      *response.add_raw_samples() = values.raw;
    }
  }
  for (const uint32_t id : update.ended) {
    if (known_.erase(id) > 0) response.add_ended(id);
  }
}

std::optional<absl::Status> Outbox::ended() const {
  absl::MutexLock lock(&mutex_);
  if (!waiting_.empty()) return std::nullopt;
  return end_;
}

}  // namespace fleetperf::aggregator
