#include "agent/deliver/spool/spool_writer.h"

#include <string>
#include <utility>

#include "base/log.h"

namespace fleetperf::agent {
namespace {

// The time from a failed save to the next attempt.
constexpr absl::Duration kRetry = absl::Seconds(1);

}  // namespace

SpoolWriter::SpoolWriter(const Clock* clock, std::function<absl::Status()> save)
    : clock_(clock), save_(std::move(save)) {}

SpoolWriter::~SpoolWriter() { Stop(); }

void SpoolWriter::Start() {
  thread_ = std::thread([this] { Run(); });
}

void SpoolWriter::Stop() {
  if (!thread_.joinable()) return;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  work_.Notify();
  thread_.join();
}

void SpoolWriter::Request() {
  bool was_idle;
  {
    absl::MutexLock lock(&mutex_);
    ++requested_;
    was_idle = std::exchange(is_idle_, false);
  }
  if (was_idle) work_.Notify();
}

absl::Status SpoolWriter::AwaitSaved() {
  absl::MutexLock lock(&mutex_);
  const uint64_t requested = requested_;
  const uint64_t started = started_;
  done_.Await(&mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return saved_ >= requested || failed_ > started;
  });
  return saved_ >= requested ? absl::OkStatus() : failure_;
}

void SpoolWriter::Run() {
  for (bool stopping = false; !stopping;) {
    uint64_t requested = 0;
    {
      absl::MutexLock lock(&mutex_);
      is_idle_ = requested_ == saved_;
      work_.Await(&mutex_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return requested_ != saved_ || stopping_;
      });
      is_idle_ = false;
      stopping = stopping_;
      requested = requested_;
      ++started_;
    }
    const absl::Status status = save_();
    Report(status);
    {
      absl::MutexLock lock(&mutex_);
      if (status.ok()) {
        saved_ = requested;
      } else {
        failed_ = started_;
        failure_ = status;
      }
    }
    done_.Notify();
    if (status.ok() || stopping) continue;
    absl::MutexLock lock(&mutex_);
    work_.Await(&mutex_, kRetry, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_;
    });
  }
}

void SpoolWriter::Report(const absl::Status& status) {
  // Logs each change of state: until the spool can be written, samples exist
  // only in this process.
  if (!status.ok() && !is_failing_) {
    LogWarning(
        "cannot write the spool; samples are kept only in memory until it can "
        "be written: ",
        status.message());
  } else if (status.ok() && is_failing_) {
    LogInfo("the spool can be written again");
  }
  is_failing_ = !status.ok();
}

}  // namespace fleetperf::agent
