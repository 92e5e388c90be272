#include "agent/source/windows/v1/deadline_data.h"

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/detached_thread.h"
#include "base/status_macros.h"
#include "base/wakeup.h"

namespace fleetperf::agent {
namespace {

// A read that may outlive its caller.
class Read {
 public:
  Read(std::shared_ptr<PerformanceData> data, HangingReads hanging,
       const Clock* clock)
      : data_(std::move(data)), hanging_(std::move(hanging)), ended_(clock) {}

  void Run(const std::string& value) {
    std::string bytes;
    const absl::Status status = data_->Query(value, &bytes);
    absl::MutexLock lock(&mutex_);
    status_ = status;
    bytes_ = std::move(bytes);
    has_ended_ = true;
    if (is_abandoned_) --*hanging_;
    ended_.Notify();
  }

  // Returns false if the read hangs.
  bool Await(absl::Duration timeout, absl::Status* status, std::string* bytes) {
    absl::MutexLock lock(&mutex_);
    const bool in_time = ended_.Await(&mutex_, timeout, [this] {
      mutex_.AssertHeld();
      return has_ended_;
    });
    if (in_time) {
      *status = status_;
      *bytes = std::move(bytes_);
    } else {
      is_abandoned_ = true;
      ++*hanging_;
    }
    return in_time;
  }

 private:
  const std::shared_ptr<PerformanceData> data_;
  const HangingReads hanging_;
  absl::Mutex mutex_;
  Wakeup ended_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::string bytes_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_abandoned_ ABSL_GUARDED_BY(mutex_) = false;
};

class DeadlineData : public PerformanceData {
 public:
  DeadlineData(OpenPerformanceData open, absl::Duration timeout,
               HangingReads hanging, const Clock* clock)
      : open_(std::move(open)),
        timeout_(timeout),
        hanging_(std::move(hanging)),
        clock_(*clock) {}

  absl::Status Query(const std::string& value, std::string* bytes) override {
    if (*hanging_ >= kMaxHangingReads) {
      return absl::UnavailableError(absl::StrCat(
          hanging_->load(), " reads of PerfLib V1 have not been answered yet"));
    }
    if (data_ == nullptr) data_ = open_();
    const auto read = std::make_shared<Read>(data_, hanging_, &clock_);
    RETURN_IF_ERROR(RunDetached([read, value] { read->Run(value); }));
    absl::Status status;
    if (read->Await(timeout_, &status, bytes)) return status;
    data_.reset();
    return absl::AbortedError(absl::StrCat("PerfLib V1, asked for \"", value,
                                           "\": no answer within ",
                                           absl::FormatDuration(timeout_)));
  }

 private:
  const OpenPerformanceData open_;
  const absl::Duration timeout_;
  const HangingReads hanging_;
  const Clock& clock_;
  std::shared_ptr<PerformanceData> data_;
};

}  // namespace

std::unique_ptr<PerformanceData> MakeDeadlineData(OpenPerformanceData open,
                                                  absl::Duration timeout,
                                                  HangingReads hanging,
                                                  const Clock* clock) {
  return std::make_unique<DeadlineData>(std::move(open), timeout,
                                        std::move(hanging), clock);
}

}  // namespace fleetperf::agent
