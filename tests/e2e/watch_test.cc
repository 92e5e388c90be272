// `fleetperf watch` with an aggregator whose answers a test chooses.

#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/tls/credentials.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "tests/e2e/deployment.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;

struct Answer {
  bool has_value;  // before the status
  grpc::StatusCode status;
};

// Answers call after call.
class ScriptedService : public v1::SubscriptionService::Service {
 public:
  explicit ScriptedService(std::vector<Answer> answers)
      : answers_(std::move(answers)) {}

  grpc::Status Subscribe(
      grpc::ServerContext*, const v1::SubscribeRequest*,
      grpc::ServerWriter<v1::SubscribeResponse>* writer) override {
    const size_t call = calls_++;
    if (call >= answers_.size()) {
      return grpc::Status(grpc::StatusCode::INTERNAL, "too many calls");
    }
    if (answers_[call].has_value) {
      v1::SubscribeResponse response;
      response.add_series()->set_id(1);
      response.mutable_series(0)->set_path("\\System\\Processes");
      response.mutable_series(0)->set_machine("box");
      response.mutable_series(0)->set_counterset("System");
      response.mutable_series(0)->set_counter("Processes");
      v1::Points& points = *response.add_points();
      points.set_series(1);
      points.add_time_unix_nanos(static_cast<int64_t>(call) + 1);
      points.add_values(1);
      response.set_history_sent(true);
      writer->Write(response);
    }
    return grpc::Status(answers_[call].status, "as scripted");
  }

  size_t calls() const { return calls_; }

 private:
  const std::vector<Answer> answers_;
  std::atomic<size_t> calls_ = 0;
};

// Runs a watch until its series has two samples.
Result Watch(ScriptedService* service) {
  Deployment deployment;
  const auto credentials =
      ServerCredentials(deployment.Issue("aggregator", {"127.0.0.1"}));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", *credentials, &port);
  builder.RegisterService(service);
  const auto server = builder.BuildAndStart();
  const TlsFiles reader = deployment.Issue("reader", {"tester"});
  Result result = RunCommand(
      {Deployment::Executable("fleetperf"), "watch", "\\System\\Processes",
       "--format", "json", "--count", "2", "--aggregator",
       absl::StrCat("127.0.0.1:", port), "--authority", reader.authority,
       "--certificate", reader.certificate, "--key", reader.key});
  server->Shutdown();
  return result;
}

// When an aggregator starts, all clients connect at once and may reach a limit
// for a moment.
TEST(Watch, TriesAgainIfALimitIsReachedAfterARestart) {
  ScriptedService service(
      std::vector<Answer>{{true, grpc::StatusCode::UNAVAILABLE},
                          {false, grpc::StatusCode::RESOURCE_EXHAUSTED},
                          {false, grpc::StatusCode::RESOURCE_EXHAUSTED},
                          {true, grpc::StatusCode::OK}});
  const Result result = Watch(&service);
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_EQ(service.calls(), 4u);
}

TEST(Watch, EndsIfALimitIsReachedAtFirst) {
  ScriptedService service(
      std::vector<Answer>{{false, grpc::StatusCode::RESOURCE_EXHAUSTED}});
  const Result result = Watch(&service);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("as scripted"));
}

TEST(Watch, EndsIfItsStreamExceedsALimit) {
  ScriptedService service(
      std::vector<Answer>{{true, grpc::StatusCode::RESOURCE_EXHAUSTED}});
  const Result result = Watch(&service);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("as scripted"));
  EXPECT_EQ(service.calls(), 1u);
}

}  // namespace
}  // namespace fleetperf::testing
