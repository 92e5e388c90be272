#include "aggregator/query/query_context.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace fleetperf::aggregator {

absl::Status ReportMissing(const QueryContext& context,
                           const std::vector<absl::Status>& missing) {
  for (const absl::Status& status : missing) {
    if (context.report_missing) {
      RETURN_IF_ERROR(context.report_missing(status));
    } else if (absl::IsNotFound(status)) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ReportProgress(const QueryContext& context, size_t machines_read,
                            size_t machines) {
  if (!context.report_progress) return absl::OkStatus();
  return context.report_progress(machines_read, machines);
}

namespace {

// About 100 microseconds of work.
constexpr uint64_t kStepsBetweenChecks = 10'000;

}  // namespace

absl::Status QueryMeter::Read(size_t samples) {
  absl::MutexLock lock(&mutex_);
  samples_ += samples;
  if (samples_ > context_.limits.samples) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the query reads more than ", context_.limits.samples,
        " samples; choose a shorter time, fewer machines or fewer counters"));
  }
  return WorkLocked(samples);
}

absl::Status QueryMeter::Work(size_t steps) {
  absl::MutexLock lock(&mutex_);
  return WorkLocked(steps);
}

absl::Status QueryMeter::WorkLocked(size_t steps) {
  unchecked_ += steps;
  if (unchecked_ < kStepsBetweenChecks) return absl::OkStatus();
  unchecked_ = 0;
  return CheckNotCancelled(context_.is_cancelled);
}

void QueryMeter::Forget(size_t samples) {
  absl::MutexLock lock(&mutex_);
  samples_ -= samples;
}

absl::Status QueryMeter::CheckHeld(size_t held) const {
  return held <= context_.limits.held ? absl::OkStatus() : TooMuchHeld();
}

absl::Status QueryMeter::TooMuchHeld() const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the query needs more than ", context_.limits.held,
      " values at a time; choose a longer step, a shorter time or fewer "
      "series"));
}

absl::Status QueryMeter::CheckCancelled() {
  absl::MutexLock lock(&mutex_);
  return CheckNotCancelled(context_.is_cancelled);
}

}  // namespace fleetperf::aggregator
