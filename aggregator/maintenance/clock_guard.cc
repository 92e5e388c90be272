#include "aggregator/maintenance/clock_guard.h"

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/text/units.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kTolerance = absl::Hours(1);
constexpr absl::Duration kHold = absl::Hours(24);
// The interval at which the difference between the clocks is measured again.
// The monotonic clock may drift by minutes a month.
constexpr absl::Duration kTrustInterval = absl::Hours(24);
// The interval at which the time is recorded in the store. After a crash, it
// adds to the downtime that is compared with kTolerance.
constexpr absl::Duration kRecordInterval = absl::Minutes(10);

std::string InSeconds(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

}  // namespace

ClockGuard::ClockGuard(Store* store, const Clock* clock)
    : store_(*store), clock_(*clock) {
  absl::MutexLock lock(&mutex_);
  const Reading start{clock_.Now(), clock_.Monotonic()};
  const std::optional<absl::Time> known = store_.KnownTime();
  Trust({known.value_or(start.now), start.monotonic});
  const Reading reading = Update();
  if (!held_until_.has_value()) Trust(reading);
}

ClockGuard::~ClockGuard() {
  absl::MutexLock lock(&mutex_);
  const Reading reading = Update();
  if (!held_until_.has_value()) RecordTime(reading);
}

std::optional<absl::Time> ClockGuard::Now() {
  absl::MutexLock lock(&mutex_);
  const Reading reading = Update();
  if (held_until_.has_value()) return std::nullopt;
  if (reading.monotonic >= next_recording_) RecordTime(reading);
  return reading.now;
}

std::optional<ClockGuard::Hold> ClockGuard::hold() {
  absl::MutexLock lock(&mutex_);
  const Reading reading = Update();
  if (!held_until_.has_value()) return std::nullopt;
  return Hold{.jump = jump_, .left = *held_until_ - reading.monotonic};
}

bool ClockGuard::Confirm() {
  absl::MutexLock lock(&mutex_);
  const Reading reading = Update();
  if (!held_until_.has_value()) return false;
  held_until_ = std::nullopt;
  Trust(reading);
  RecordTime(reading);
  LogInfo("the time ", FormatUtc(reading.now),
          " was confirmed: old samples are removed again");
  return true;
}

ClockGuard::Reading ClockGuard::Update() {
  // In this order, time that passes between the two readings does not count as
  // an advance of the time of day.
  const absl::Time now = clock_.Now();
  const Reading reading{now, clock_.Monotonic()};
  const absl::Duration advance = reading.offset() - offset_;
  if (advance > kTolerance) {
    Trust(reading);
    jump_ = advance;
    held_until_ = reading.monotonic + kHold;
    LogWarning("the clock is at ", FormatUtc(reading.now),
               " after it jumped ahead by ", InSeconds(jump_),
               ": no data is removed or thinned by age until the aggregator "
               "has run for ",
               InSeconds(kHold),
               "; if the time is right, run: fleetperf confirm-clock");
  } else if (held_until_.has_value() && reading.monotonic >= *held_until_) {
    held_until_ = std::nullopt;
    Trust(reading);
    LogInfo("the clock is at ", FormatUtc(reading.now),
            " and did not jump for ", InSeconds(kHold),
            ": old samples are removed again");
  } else if (advance < absl::ZeroDuration() ||
             reading.monotonic >= trusted_at_ + kTrustInterval) {
    // Follows a step back, so that a later step ahead counts as a jump.
    Trust(reading);
  }
  return reading;
}

void ClockGuard::Trust(const Reading& reading) {
  offset_ = reading.offset();
  trusted_at_ = reading.monotonic;
}

void ClockGuard::RecordTime(const Reading& reading) {
  next_recording_ = reading.monotonic + kRecordInterval;
  const absl::Status status = store_.PutKnownTime(reading.now);
  if (status.ok()) return;
  log_.Warn("known time", absl::StrCat("cannot record the time in the store: ",
                                       status.message()));
}

}  // namespace fleetperf::aggregator
