// The bytes of an answer on the way from the thread that makes them to the
// connection that sends them.

#ifndef FLEETPERF_AGGREGATOR_WEB_REPLY_H_
#define FLEETPERF_AGGREGATOR_WEB_REPLY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/os/clock.h"
#include "base/wakeup.h"

namespace fleetperf::aggregator::web {

// Thread-safe.
class Reply {
 public:
  // Many replies may share the bytes.
  using Bytes = std::shared_ptr<const std::string>;

  // SendAndWait waits while more bytes than this wait for the client.
  static constexpr size_t kMaxWaitingBytes = 1 << 20;
  // The longest wait for the client, and the sum of the waits: those of a gRPC
  // call (call_table.h).
  static constexpr absl::Duration kMaxWait = absl::Seconds(30);
  static constexpr absl::Duration kMaxWaits = absl::Minutes(2);

  // `wake` is called without a lock, on any thread, when the connection has
  // something to do. `clock` must outlive the object.
  explicit Reply(std::function<void()> wake,
                 const Clock* clock = &Clock::Real())
      : wake_(std::move(wake)), clock_(*clock), changed_(clock) {}

  // For the thread that makes the answer. None of these has an effect once the
  // client is gone.
  void Send(std::string bytes);
  // Sends bytes with some values, which Drop may drop. `lagged`: the lost
  // values that the bytes tell of.
  void SendShared(Bytes bytes, uint64_t values, uint64_t lagged = 0);
  // Sends and waits until there is room for more. Returns Cancelled if the
  // client is gone, and DeadlineExceeded if it has kept the caller waiting too
  // long.
  absl::Status SendAndWait(std::string bytes);
  // Ends the answer after the bytes that wait. `keeps_connection`: the answer
  // is complete, and the client knows its end.
  void Finish(bool keeps_connection);
  // Answers with an error, and ends the answer. Nothing was sent before.
  void Fail(const absl::Status& error, bool keeps_connection);
  struct Dropped {
    uint64_t values = 0;
    uint64_t lagged = 0;
  };
  // Drops the bytes of SendShared that the connection has not taken.
  Dropped Drop();
  // Calls `listener` once, without a lock, when no more bytes than `bytes` wait
  // or are being written; perhaps at once.
  void NotifyBelow(size_t bytes, std::function<void()> listener);
  // The same when the client is gone.
  void NotifyClosed(std::function<void()> listener);
  // The bytes that are not written, and those of them that the connection has
  // not taken.
  size_t waiting_bytes() const;
  size_t untaken_bytes() const;
  bool is_closed() const;

  // For the connection.
  // Returns the next bytes; nullptr if none wait. The connection has written
  // those that it took before.
  Bytes Take();
  // Returns whether the connection goes on, once the answer has ended.
  std::optional<bool> finished() const;
  // The client is gone.
  void Close();

 private:
  struct Part {
    Bytes bytes;
    uint64_t values = 0;
    uint64_t lagged = 0;
    bool may_drop = false;
  };

  void Add(Part part);
  // Takes the listener if it is due.
  std::function<void()> TakeListener() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<void()> wake_;
  const Clock& clock_;
  mutable absl::Mutex mutex_;
  Wakeup changed_;
  std::deque<Part> parts_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The part of waiting_bytes_ that the connection writes now.
  size_t taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration waited_ ABSL_GUARDED_BY(mutex_);
  std::optional<bool> finished_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t notify_below_ ABSL_GUARDED_BY(mutex_) = 0;
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> closed_listener_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_AGGREGATOR_WEB_REPLY_H_
