// Ends the detection of deadlocks where it finds some that do not exist. With
// NDEBUG, the destructor of a mutex is inline and empty in Abseil 2024, but
// Debian builds the library without NDEBUG: it takes a mutex for an earlier one
// at the same address, and aborts because of the order of both.

#include "absl/base/config.h"
#include "absl/synchronization/mutex.h"

#if defined(NDEBUG) && ABSL_LTS_RELEASE_VERSION > 20220623
namespace {

[[maybe_unused]] const bool is_off = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return true;
}();

}  // namespace
#endif
