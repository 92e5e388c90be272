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
namespace {

// About 100 microseconds of work.
constexpr uint64_t kSamplesBetweenChecks = 10'000;

}  // namespace

absl::Status QueryMeter::Read(size_t samples) {
  absl::MutexLock lock(&mutex_);
  samples_ += samples;
  if (samples_ > context_.limits.samples) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the query reads more than ", context_.limits.samples,
        " samples; choose a shorter time, fewer machines or fewer counters"));
  }
  if (samples_ < next_check_) return absl::OkStatus();
  next_check_ = samples_ + kSamplesBetweenChecks;
  return CheckNotCancelled();
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
  return CheckNotCancelled();
}

absl::Status QueryMeter::CheckNotCancelled() {
  if (!context_.is_cancelled || !context_.is_cancelled()) {
    return absl::OkStatus();
  }
  return absl::CancelledError("the caller cancelled the query");
}

}  // namespace fleetperf::aggregator
