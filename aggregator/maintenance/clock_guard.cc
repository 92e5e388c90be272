#include "aggregator/maintenance/clock_guard.h"

#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "base/units.h"

namespace fleetperf::aggregator {
namespace {

constexpr absl::Duration kTolerance = absl::Hours(1);
constexpr absl::Duration kHold = absl::Hours(24);
// So often the clocks' difference is taken anew: the monotonic one is not
// slewed, and may go wrong by minutes a month.
constexpr absl::Duration kTrustInterval = absl::Hours(24);
// So often the store is told. What passes until the next start, less than
// kTolerance, is no jump.
constexpr absl::Duration kKeepInterval = absl::Minutes(10);

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
  const Reading reading = Look();
  if (!held_until_.has_value()) Trust(reading);
}

ClockGuard::~ClockGuard() {
  absl::MutexLock lock(&mutex_);
  const Reading reading = Look();
  if (!held_until_.has_value()) Keep(reading);
}

std::optional<absl::Time> ClockGuard::Now() {
  absl::MutexLock lock(&mutex_);
  const Reading reading = Look();
  if (held_until_.has_value()) return std::nullopt;
  if (reading.monotonic >= next_keeping_) Keep(reading);
  return reading.now;
}

std::optional<ClockGuard::Hold> ClockGuard::hold() {
  absl::MutexLock lock(&mutex_);
  const Reading reading = Look();
  if (!held_until_.has_value()) return std::nullopt;
  return Hold{.jump = jump_, .left = *held_until_ - reading.monotonic};
}

bool ClockGuard::Confirm() {
  absl::MutexLock lock(&mutex_);
  const Reading reading = Look();
  if (!held_until_.has_value()) return false;
  held_until_ = std::nullopt;
  Trust(reading);
  Keep(reading);
  spdlog::info("the time {} is confirmed: old samples are removed again",
               FormatUtc(reading.now));
  return true;
}

ClockGuard::Reading ClockGuard::Look() {
  // In this order: what passes in between is no advance of the time of day.
  const absl::Time now = clock_.Now();
  const Reading reading{now, clock_.Monotonic()};
  const absl::Duration advance = reading.offset() - offset_;
  if (advance > kTolerance) {
    Trust(reading);
    jump_ = advance;
    held_until_ = reading.monotonic + kHold;
    spdlog::warn(
        "the clock is at {}, and jumped ahead by {}: nothing is removed or "
        "thinned by age until this has run for {}; if the time is right: "
        "fleetperf confirm-clock",
        FormatUtc(reading.now), InSeconds(jump_), InSeconds(kHold));
  } else if (held_until_.has_value() && reading.monotonic >= *held_until_) {
    held_until_ = std::nullopt;
    Trust(reading);
    spdlog::info(
        "the clock, at {}, did not jump for {}: old samples are "
        "removed again",
        FormatUtc(reading.now), InSeconds(kHold));
  } else if (advance < absl::ZeroDuration() ||
             reading.monotonic >= trusted_at_ + kTrustInterval) {
    // Also one that goes back: what it goes ahead from there may be a jump.
    Trust(reading);
  }
  return reading;
}

void ClockGuard::Trust(const Reading& reading) {
  offset_ = reading.offset();
  trusted_at_ = reading.monotonic;
}

void ClockGuard::Keep(const Reading& reading) {
  next_keeping_ = reading.monotonic + kKeepInterval;
  const absl::Status status = store_.PutKnownTime(reading.now);
  if (status.ok()) return;
  log_.Warn("known time", absl::StrCat("cannot store that the clock is right: ",
                                       status.message()));
}

}  // namespace fleetperf::aggregator
