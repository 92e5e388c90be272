// An aggregator whose every message is controlled by a test.

#ifndef FLEETPERF_TESTS_AGENT_DELIVER_FAKE_AGGREGATOR_H_
#define FLEETPERF_TESTS_AGENT_DELIVER_FAKE_AGGREGATOR_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "fleetperf/v1/collection.grpc.pb.h"

namespace fleetperf::testing {

// One agent's stream. Used by the test's thread.
class FakeStream
    : public grpc::ServerBidiReactor<v1::CollectRequest, v1::CollectResponse> {
 public:
  FakeStream() { StartRead(&request_); }

  // Returns the next plan report, passing over other messages.
  v1::PlanReport ReceiveReport();
  // Returns the next message that is not a plan report. If none arrives, fails
  // and returns an empty message.
  v1::CollectRequest Receive();
  void Send(v1::CollectResponse response);
  // Ends the stream after the messages sent so far.
  void End(const grpc::Status& status);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override {}

 private:
  void WriteMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  v1::CollectRequest request_;    // being read
  v1::CollectResponse response_;  // being written
  std::deque<v1::CollectRequest> received_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::CollectResponse> responses_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status end_status_ ABSL_GUARDED_BY(mutex_);
};

class FakeAggregator : public v1::CollectionService::CallbackService {
 public:
  // Listens at a free port, or at the address of a previous aggregator; without
  // TLS unless there are credentials.
  explicit FakeAggregator(const std::string& address = "127.0.0.1:0",
                          const std::shared_ptr<grpc::ServerCredentials>&
                              credentials = grpc::InsecureServerCredentials());
  // Cancels open streams.
  ~FakeAggregator() override;

  const std::string& address() const { return address_; }

  // Waits for the next stream.
  FakeStream& Accept();

  grpc::ServerBidiReactor<v1::CollectRequest, v1::CollectResponse>* Collect(
      grpc::CallbackServerContext* context) override;

 private:
  std::string address_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<FakeStream>> streams_ ABSL_GUARDED_BY(mutex_);
  size_t accepted_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_DELIVER_FAKE_AGGREGATOR_H_
