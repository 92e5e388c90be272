#include "aggregator/query/query_context.h"

#include "absl/strings/str_cat.h"

namespace fleetperf::aggregator {
namespace {

// Some hundred microseconds' work.
constexpr uint64_t kSamplesBetweenChecks = 10'000;

}  // namespace

absl::Status QueryMeter::Read(size_t samples) {
  samples_ += samples;
  if (samples_ > context_.limits.samples) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the query reads more than ", context_.limits.samples,
        " samples; choose a shorter time, fewer machines or fewer counters"));
  }
  if (samples_ < next_check_) return absl::OkStatus();
  next_check_ = samples_ + kSamplesBetweenChecks;
  return CheckCancelled();
}

absl::Status QueryMeter::CheckHeld(size_t held) const {
  if (held <= context_.limits.held) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the query needs more than ", context_.limits.held,
      " values at a time; choose a longer step, a shorter time or fewer "
      "series"));
}

absl::Status QueryMeter::CheckCancelled() const {
  if (!context_.is_cancelled || !context_.is_cancelled()) {
    return absl::OkStatus();
  }
  return absl::CancelledError("nobody waits for the answer any more");
}

}  // namespace fleetperf::aggregator
