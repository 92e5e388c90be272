// A client of the subscription service.

#ifndef FLEETPERF_TESTS_E2E_SUBSCRIBER_H_
#define FLEETPERF_TESTS_E2E_SUBSCRIBER_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rpc/channel.h"
#include "base/rpc/rpc_deadline.h"
#include "base/tls/credentials.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {

// A subscription that a test reads message by message.
class Subscriber {
 public:
  Subscriber(const std::string& address, const TlsFiles& tls,
             const v1::SubscribeRequest& request)
      : stub_(v1::SubscriptionService::NewStub(
            MakeChannel(address, *ClientCredentials(tls)))) {
    context_.set_deadline(RpcDeadline(2 * kPatience));
    reader_ = stub_->Subscribe(&context_, request);
  }
  ~Subscriber() {
    context_.TryCancel();
    while (Read()) {
    }
    reader_->Finish();
  }

  // Reads a message. Returns false if the stream has ended.
  bool Read() {
    if (!reader_->Read(&last)) return false;
    lagged += last.lagged();
    series += last.series_size();
    for (const v1::Points& points : last.points()) {
      values.insert(values.end(), points.values().begin(),
                    points.values().end());
    }
    return true;
  }
  // Reads until the newest value is `value`. Returns false if the stream has
  // ended.
  bool ReadUntil(double value) {
    while (values.empty() || values.back() != value) {
      if (!Read()) return false;
    }
    return true;
  }

  v1::SubscribeResponse last;  // the last message
  // Totals of all messages read so far.
  std::vector<double> values;
  uint64_t lagged = 0;
  int series = 0;

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<v1::SubscriptionService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<v1::SubscribeResponse>> reader_;
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_SUBSCRIBER_H_
