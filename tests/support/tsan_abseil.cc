// Annotates absl::Mutex, absl::CondVar and the shared representation of
// absl::Status for ThreadSanitizer. Debian builds Abseil without its own
// annotations, so that every access guarded by a mutex would look like a race.
//
// These functions are linked before Abseil and therefore replace its own. Each
// calls the original, which is looked up by its mangled name.

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);

namespace {

template <typename Function>
Function* Next(const char* mangled_name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, mangled_name));
}

// Annotations of a mutex for the duration of a call.

struct Acquiring {
  void* mutex;
  ~Acquiring() { __tsan_acquire(mutex); }
};

// Ignores reads during the call: Abseil evaluates other threads' conditions
// while it still holds the mutex, which ThreadSanitizer already considers
// released.
struct Releasing {
  explicit Releasing(void* mutex) {
    __tsan_release(mutex);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  }
  ~Releasing() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

// Releases the mutex for the duration of the call.
struct Waiting {
  explicit Waiting(void* mutex) : acquiring{mutex}, releasing(mutex) {}
  Acquiring acquiring;
  Releasing releasing;
};

// Disables Abseil's deadlock detection, because its internal lock is not
// annotated. ThreadSanitizer detects deadlocks, too.
[[maybe_unused]] const bool detects_deadlocks = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return false;
}();

}  // namespace

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  static auto* const next = Next<void(Mutex*)>("_ZN4absl7debian35Mutex4LockEv");
  const Acquiring acquiring{this};
  next(this);
}
bool Mutex::TryLock() {
  static auto* const next =
      Next<bool(Mutex*)>("_ZN4absl7debian35Mutex7TryLockEv");
  const Acquiring acquiring{this};
  return next(this);
}
void Mutex::ReaderLock() {
  static auto* const next =
      Next<void(Mutex*)>("_ZN4absl7debian35Mutex10ReaderLockEv");
  const Acquiring acquiring{this};
  next(this);
}
bool Mutex::ReaderTryLock() {
  static auto* const next =
      Next<bool(Mutex*)>("_ZN4absl7debian35Mutex13ReaderTryLockEv");
  const Acquiring acquiring{this};
  return next(this);
}
void Mutex::Unlock() {
  static auto* const next =
      Next<void(Mutex*)>("_ZN4absl7debian35Mutex6UnlockEv");
  const Releasing releasing(this);
  next(this);
}
void Mutex::ReaderUnlock() {
  static auto* const next =
      Next<void(Mutex*)>("_ZN4absl7debian35Mutex12ReaderUnlockEv");
  const Releasing releasing(this);
  next(this);
}
void Mutex::LockWhen(const Condition& condition) {
  static auto* const next = Next<void(Mutex*, const Condition&)>(
      "_ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE");
  const Waiting waiting(this);
  next(this, condition);
}
void Mutex::Await(const Condition& condition) {
  static auto* const next = Next<void(Mutex*, const Condition&)>(
      "_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE");
  const Waiting waiting(this);
  next(this, condition);
}
bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  static auto* const next = Next<bool(Mutex*, const Condition&, Duration)>(
      "_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_"
      "8DurationE");
  const Waiting waiting(this);
  return next(this, condition, timeout);
}
bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  static auto* const next = Next<bool(Mutex*, const Condition&, Time)>(
      "_ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  const Waiting waiting(this);
  return next(this, condition, deadline);
}
void CondVar::Wait(Mutex* mutex) {
  static auto* const next = Next<void(CondVar*, Mutex*)>(
      "_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE");
  const Waiting waiting(mutex);
  next(this, mutex);
}
bool CondVar::WaitWithTimeout(Mutex* mutex, Duration timeout) {
  static auto* const next = Next<bool(CondVar*, Mutex*, Duration)>(
      "_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  const Waiting waiting(mutex);
  return next(this, mutex, timeout);
}
bool CondVar::WaitWithDeadline(Mutex* mutex, Time deadline) {
  static auto* const next = Next<bool(CondVar*, Mutex*, Time)>(
      "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  const Waiting waiting(mutex);
  return next(this, mutex, deadline);
}

// The annotation misses a thread that drops its reference between the acquire
// and the delete of another thread. tests/tsan.supp refers to this function by
// name.
void Status::UnrefNonInlined(uintptr_t rep) {
  static auto* const next =
      Next<void(uintptr_t)>("_ZN4absl7debian36Status15UnrefNonInlinedEm");
  void* const shared = reinterpret_cast<void*>(rep);
  __tsan_release(shared);
  __tsan_acquire(shared);
  next(rep);
}

ABSL_NAMESPACE_END
}  // namespace absl
