#include "base/os/input_file.h"

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/os/detached_thread.h"
#include "base/os/systemd_credential.h"
#include "base/text/units.h"
#include "base/wakeup.h"

namespace fleetperf {
namespace {

using internal::InputSecrecy;

// The paths whose reads are late and have not returned. Never destroyed,
// because such a read may outlast the process's static objects.
struct LateReads {
  absl::Mutex mutex;
  std::set<std::string> paths ABSL_GUARDED_BY(mutex);
};

LateReads& TheLateReads() {
  static LateReads& late = *new LateReads;
  return late;
}

absl::Status TooLate(const std::string& path) {
  return absl::DeadlineExceededError(absl::StrCat(
      "cannot read ", path, ": its filesystem has not answered for ",
      absl::FormatDuration(kInputFileTime), "; check its disk or network"));
}

// One read, shared by the thread that waits for it and the one that reads.
class PendingRead {
 public:
  PendingRead(std::string path, const Clock& clock)
      : path_(std::move(path)), wakeup_(&clock) {}

  void Finish(absl::StatusOr<std::string> result) {
    absl::MutexLock lock(&mutex_);
    result_ = std::move(result);
    if (is_late_) {
      LateReads& late = TheLateReads();
      absl::MutexLock late_lock(&late.mutex);
      late.paths.erase(path_);
    }
    wakeup_.Notify();
  }

  absl::StatusOr<std::string> Await(absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    const auto is_done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return result_.has_value();
    };
    if (wakeup_.Await(&mutex_, timeout, is_done)) return *std::move(result_);
    is_late_ = true;
    LateReads& late = TheLateReads();
    absl::MutexLock late_lock(&late.mutex);
    late.paths.insert(path_);
    return TooLate(path_);
  }

 private:
  const std::string path_;
  absl::Mutex mutex_;
  Wakeup wakeup_;
  std::optional<absl::StatusOr<std::string>> result_ ABSL_GUARDED_BY(mutex_);
  bool is_late_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::string> ReadInTimeWith(const std::string& path,
                                           InputSecrecy secrecy) {
  return internal::ReadInTime(path, kInputFileTime, [path, secrecy] {
    return internal::ReadRegularFile(path, secrecy);
  });
}

}  // namespace

absl::Status internal::InputTooLarge(const std::string& path) {
  return absl::ResourceExhaustedError(
      absl::StrCat(path, " has more than ", FormatByteSize(kMaxInputFileBytes),
                   ", the limit of such files; name the right file"));
}

absl::StatusOr<std::string> internal::ReadInTime(
    const std::string& path, absl::Duration timeout,
    std::function<absl::StatusOr<std::string>()> read, const Clock& clock) {
  {
    LateReads& late = TheLateReads();
    absl::MutexLock lock(&late.mutex);
    if (late.paths.contains(path)) return TooLate(path);
  }
  const auto shared = std::make_shared<PendingRead>(path, clock);
  const absl::Status started =
      RunDetached([shared, read] { shared->Finish(read()); });
  return started.ok() ? shared->Await(timeout) : read();
}

absl::StatusOr<std::string> ReadInputFile(const std::string& path) {
  return ReadInTimeWith(path, InputSecrecy::kPublic);
}

absl::StatusOr<std::string> ReadSecretFile(const std::string& path) {
  return ReadInTimeWith(
      path, IsCredential(path) ? InputSecrecy::kPublic : InputSecrecy::kSecret);
}

}  // namespace fleetperf
