// A call of gRPC's synchronous API that may work for longer than a call may
// wait for its caller.

#ifndef FLEETPERF_BASE_SERVER_WORKING_CALL_H_
#define FLEETPERF_BASE_SERVER_WORKING_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/os/clock.h"
#include "base/server/call_table.h"

namespace fleetperf {

// While the object exists, the call works, except during Write, which waits for
// the caller (call_table.h). Thread-compatible.
class WorkingCall {
 public:
  // `context` must outlive the object.
  explicit WorkingCall(const grpc::ServerContext* context)
      : context_(*context) {
    CallTable::OfProcess().Work(&context_);
  }
  ~WorkingCall() { CallTable::OfProcess().Wait(&context_); }
  WorkingCall(const WorkingCall&) = delete;
  WorkingCall& operator=(const WorkingCall&) = delete;

  const grpc::ServerContext& context() const { return context_; }

  // Whether the caller is gone, its deadline has passed, or the server stops.
  // Asks gRPC, which polls the connection and takes tens of microseconds, about
  // every 10 ms. Thread-safe.
  bool IsCancelled() {
    constexpr int64_t kInterval = 10'000'000;
    const int64_t now = absl::ToInt64Nanoseconds(Clock::Real().Monotonic());
    if (is_cancelled_ || now < next_check_) return is_cancelled_;
    next_check_ = now + kInterval;
    const bool is_cancelled = context_.IsCancelled();
    if (is_cancelled) is_cancelled_ = true;
    return is_cancelled;
  }

  // Writes a part of the answer. Returns Cancelled if the call has ended.
  template <typename Response>
  absl::Status Write(const Response& response,
                     grpc::ServerWriter<Response>* writer) {
    CallTable::OfProcess().Wait(&context_);
    const bool is_written = writer->Write(response);
    CallTable::OfProcess().Work(&context_);
    if (is_written) return absl::OkStatus();
    return absl::CancelledError("the caller disconnected");
  }

 private:
  const grpc::ServerContext& context_;
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<int64_t> next_check_ = 0;  // Clock::Monotonic(), nanoseconds
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_WORKING_CALL_H_
