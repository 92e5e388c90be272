#include "agent/source/linux/disk/space_probes.h"

#include <sys/statvfs.h>

#include <deque>
#include <limits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/logging.h"
#include "base/os/clock.h"
#include "base/os/detached_thread.h"
#include "base/wakeup.h"

namespace fleetperf::agent {

namespace {

uint64_t SaturatedProduct(uint64_t a, uint64_t b) {
  const absl::uint128 product = absl::uint128(a) * b;
  return absl::Uint128High64(product) != 0
             ? std::numeric_limits<uint64_t>::max()
             : absl::Uint128Low64(product);
}

}  // namespace

std::optional<FilesystemSpace> SpaceOf(const std::string& path) {
  struct statvfs space = {};
  if (statvfs(path.c_str(), &space) != 0) return std::nullopt;
  const uint64_t block = space.f_frsize;
  return FilesystemSpace{
      .bytes = SaturatedProduct(space.f_blocks, block),
      .free_bytes = SaturatedProduct(space.f_bfree, block),
      .available_bytes = SaturatedProduct(space.f_bavail, block),
      .inodes = space.f_files,
      .free_inodes = space.f_ffree};
}

// The state that the threads share with their SpaceProbes. Thread-safe.
class SpaceProbes::Threads : public std::enable_shared_from_this<Threads> {
 public:
  Threads(AskForSpace ask, size_t max_threads, absl::Duration patience)
      : ask_(std::move(ask)), max_threads_(max_threads), patience_(patience) {}

  void Stop() {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    queue_.clear();
    asked_.Notify();
  }

  void Ask(absl::Span<const std::shared_ptr<SpaceProbe>> probes) {
    absl::MutexLock lock(&mutex_);
    // Of unmounted filesystems; hanging threads would let them pile up.
    std::erase_if(queue_,
                  [](const auto& probe) { return probe.use_count() == 1; });
    for (const auto& probe : probes) {
      if (std::exchange(probe->is_open, true)) continue;
      // Slow filesystems do not delay the others.
      if (probe->is_prompt) {
        probe->is_awaited = true;
        ++awaited_;
        queue_.push_front(probe);
      } else {
        queue_.push_back(probe);
      }
    }
    if (queue_.empty()) return;
    if (idle_ > 0) {
      asked_.NotifyOne();
    } else if (threads_ < max_threads_) {
      StartThread();
    }
    answered_.Await(&mutex_, patience_, [this] {
      mutex_.AssertHeld();
      return awaited_ == 0 || threads_ == 0;
    });
    for (const auto& probe : probes) StopWaiting(probe.get());
  }

  std::optional<FilesystemSpace> TakeAnswer(SpaceProbe* probe) {
    absl::MutexLock lock(&mutex_);
    if (!std::exchange(probe->has_answer, false)) return std::nullopt;
    return probe->answer;
  }

 private:
  // If no thread starts, the next question tries again.
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Status started =
        RunDetached([threads = shared_from_this()] { threads->Run(); });
    if (started.ok()) {
      ++threads_;
    } else {
      log_.Warn("thread", absl::StrCat("the space of filesystems is absent "
                                       "until a thread starts: ",
                                       started.message()));
    }
  }

  // After a late answer, the next question is not waited for.
  void StopWaiting(SpaceProbe* probe) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!std::exchange(probe->is_awaited, false)) return;
    probe->is_prompt = false;
    --awaited_;
  }

  void Run() {
    absl::MutexLock lock(&mutex_);
    for (;;) {
      // After a hanging filesystem answered, a second thread may be idle.
      if (queue_.empty() && idle_ > 0) break;
      ++idle_;
      asked_.Await(&mutex_, [this] {
        mutex_.AssertHeld();
        return is_stopping_ || !queue_.empty();
      });
      --idle_;
      if (is_stopping_) break;
      AskNext();
    }
    --threads_;
  }

  void AskNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::shared_ptr<SpaceProbe> probe = std::move(queue_.front());
    queue_.pop_front();
    if (probe.use_count() == 1) return;  // its filesystem is unmounted
    mutex_.Unlock();
    const absl::Duration begin = Clock::Real().Monotonic();
    const std::optional<FilesystemSpace> answer = ask_(probe->path);
    const absl::Duration taken = Clock::Real().Monotonic() - begin;
    mutex_.Lock();
    probe->is_open = false;
    probe->has_answer = true;
    probe->answer = answer;
    probe->is_prompt = taken < patience_;
    if (!std::exchange(probe->is_awaited, false)) return;
    if (--awaited_ == 0) answered_.Notify();
  }

  const AskForSpace ask_;
  const size_t max_threads_;
  const absl::Duration patience_;
  LogOncePerCause log_;

  absl::Mutex mutex_;
  Wakeup asked_;
  Wakeup answered_;
  std::deque<std::shared_ptr<SpaceProbe>> queue_ ABSL_GUARDED_BY(mutex_);
  size_t threads_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t awaited_ ABSL_GUARDED_BY(mutex_) = 0;  // probes
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

SpaceProbes::SpaceProbes(AskForSpace ask, size_t max_threads,
                         absl::Duration patience)
    : threads_(
          std::make_shared<Threads>(std::move(ask), max_threads, patience)) {}

SpaceProbes::~SpaceProbes() { threads_->Stop(); }

void SpaceProbes::Ask(absl::Span<const std::shared_ptr<SpaceProbe>> probes) {
  threads_->Ask(probes);
}

std::optional<FilesystemSpace> SpaceProbes::TakeAnswer(SpaceProbe* probe) {
  return threads_->TakeAnswer(probe);
}

}  // namespace fleetperf::agent
