// Bounds the calls of gRPC's synchronous API, each of which has a thread: the
// number of calls of a caller, and the time that a call waits for its caller.
//
// A call waits for its caller while it reads requests, writes its answer and
// sends its status. A caller that opens no HTTP/2 window makes these waits
// endless, because gRPC has no timeout for them.

#ifndef FLEETPERF_BASE_SERVER_CALL_TABLE_H_
#define FLEETPERF_BASE_SERVER_CALL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/os/clock.h"
#include "base/server/caller_quota.h"

namespace fleetperf {

// The longest wait for the caller, and the sum of the waits of a call. A call
// that never works (CallTable::Work) must end within the longest wait.
inline constexpr absl::Duration kMaxCallWait = absl::Seconds(30);
inline constexpr absl::Duration kMaxCallWaits = absl::Minutes(2);

// Thread-safe.
class CallTable {
 public:
  // Identifies a call: the address of its ServerContext.
  using Call = const void*;
  // Ends a call with RESOURCE_EXHAUSTED and a message. Called with the table's
  // lock held, at most once per call.
  using Cancel = std::function<void(const std::string& message)>;

  // The arguments must outlive the table.
  explicit CallTable(CallerQuota* quota, const Clock* clock = &Clock::Real())
      : quota_(*quota), clock_(*clock) {}
  CallTable(const CallTable&) = delete;
  CallTable& operator=(const CallTable&) = delete;

  // The table of all servers of the process: gRPC has one observer of calls.
  static CallTable& OfProcess();

  // Adds a call, which waits for its caller. Cancels it at once if `caller` has
  // all its calls (Pool::kCalls).
  void Begin(Call call, const std::string& caller, Cancel cancel);
  // Removes a call. After the return, its Cancel is not called any more.
  void End(Call call);

  // The call works, or waits for its caller again. No-ops if the table does not
  // have the call.
  void Work(Call call);
  void Wait(Call call);

  // Cancels the calls that have waited too long.
  void CancelStalled();

  struct Counts {
    uint64_t calls = 0;    // at present
    uint64_t refused = 0;  // since the start: the caller had too many
    uint64_t stalled = 0;  // since the start: the call waited too long
  };
  Counts counts() const;

 private:
  struct Entry {
    CallerQuota::Share share;
    Cancel cancel;  // nullptr: it was called
    bool is_waiting = true;
    absl::Duration since;   // Clock::Monotonic() of the last change
    absl::Duration waited;  // the waits before `since`
  };

  void CancelOne(Entry* entry, const std::string& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  CallerQuota& quota_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<Call, Entry> calls_ ABSL_GUARDED_BY(mutex_);
  uint64_t stalled_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_CALL_TABLE_H_
