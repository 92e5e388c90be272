#include "aggregator/maintenance/maintenance.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr absl::Duration kRemovalInterval = absl::Minutes(10);
// Batches of an agent that has sent nothing for this long are compacted without
// waiting for more.
constexpr absl::Duration kIdle = absl::Minutes(10);

}  // namespace

Maintenance::Maintenance(Store* store, const Retention& retention,
                         ClockGuard* guard, const Clock* clock)
    : store_(*store),
      guard_(*guard),
      clock_(*clock),
      next_removal_(clock->Monotonic()),
      retention_(retention),
      stopped_(clock),
      thread_([this] { Run(); }) {}

Maintenance::~Maintenance() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    stopped_.Notify();
  }
  thread_.join();
}

void Maintenance::Run() {
  const auto is_stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_;
  };
  for (;;) {
    RunOnce();
    absl::MutexLock lock(&mutex_);
    if (stopped_.Await(&mutex_, kInterval, is_stopping)) return;
  }
}

void Maintenance::SetRetention(const Retention& retention) {
  absl::MutexLock lock(&mutex_);
  retention_ = retention;
}

Retention Maintenance::GetRetention() {
  absl::MutexLock lock(&mutex_);
  return retention_;
}

bool Maintenance::IsStopping() {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void Maintenance::RunOnce() {
  Compact(clock_.Now() - kIdle);
  // Called every time because it also detects jumps.
  const std::optional<absl::Time> now = guard_.Now();
  if (IsStopping() || clock_.Monotonic() < next_removal_) return;
  next_removal_ = clock_.Monotonic() + kRemovalInterval;
  const Retention retention = GetRetention();
  if (now.has_value()) RemoveOlder(retention, *now);
  if (retention.max_size > 0) {
    Check("enforce store.max_size", store_.DropTo(retention.max_size));
  }
}

// Uses `now`, which the guard has checked. The clock may have jumped since.
void Maintenance::RemoveOlder(const Retention& retention, absl::Time now) {
  Check("remove old samples", store_.DropBefore(now - retention.all));
  Thin(Resolution::kMinute, now - retention.full_resolution);
  Thin(Resolution::kHour, now - retention.minute_resolution);
}

void Maintenance::Thin(Resolution resolution, absl::Time time) {
  for (bool more = true; more && !IsStopping();) {
    const auto done = store_.Thin(resolution, time);
    Check("thin old samples", done.status());
    more = done.ok() && *done;
  }
}

void Maintenance::Compact(absl::Time idle_since) {
  for (bool more = true; more && !IsStopping();) {
    const auto done = store_.Compact(idle_since);
    Check("compact the store", done.status());
    more = done.ok() && *done;
  }
}

void Maintenance::Check(absl::string_view action, const absl::Status& status) {
  if (status.ok()) return;
  ++failures_;
  log_.Warn(action, absl::StrCat("cannot ", action, ": ", status.message()));
}

}  // namespace fleetperf::aggregator
