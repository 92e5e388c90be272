// The service, called over TLS: the waits of its streams. The tests of the hub
// check the updates.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "aggregator/services/services.h"
#include "aggregator/services/subscriptions.h"
#include "base/os/files.h"
#include "base/server/rpc_server.h"
#include "base/server/stream_service.h"
#include "base/tls/certificates.h"
#include "base/tls/credentials.h"
#include "fleetperf/v1/collection.grpc.pb.h"
#include "fleetperf/v1/subscription.grpc.pb.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskAgent;
using testing::kQueue;

// A store that blocks the use of its directory.
class StandingStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  const Directory& directory() const override {
    if (stands_) {
      looking_ = true;
      looking_.notify_all();
      go_on_.WaitForNotification();
    }
    return StoreWrapper::directory();
  }

  void Stand() { stands_ = true; }
  void Release() { go_on_.Notify(); }
  void WaitUntilLooking() const { looking_.wait(false); }

 private:
  std::atomic<bool> stands_ = false;
  mutable std::atomic<bool> looking_ = false;
  absl::Notification go_on_;
};

class SubscriptionServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DiskAgent agent(&test_store_);
    agent.Ticks(0, 5, {{agent.Disk("C:"), 2}});
    ASSERT_OK(agent.Send());
    ASSERT_OK_AND_ASSIGN(authority_,
                         MakeAuthority("test", absl::FromUnixSeconds(4e9)));
    ASSERT_OK(
        WriteFile(directory_.File("authority.pem"), authority_.certificate));
    ASSERT_OK_AND_ASSIGN(
        const auto credentials,
        ServerCredentials(Issue(Role::kAggregator, "127.0.0.1")));
    streams_.push_back(MakeCollectionService(&ingest_));
    streams_.push_back(MakeSubscriptionService(&subscriptions_));
    ASSERT_OK_AND_ASSIGN(
        server_, RpcServer::Start(
                     "127.0.0.1:0", "", ConnectionLimits(), credentials,
                     std::make_shared<ClientCertificates>(),
                     std::vector<std::unique_ptr<grpc::Service>>(), streams_));
  }

  void TearDown() override {
    server_.reset();
    hub_.Stop();
  }

  TlsFiles Issue(Role role, const std::string& name) {
    const std::string stem = directory_.File(std::string(RoleName(role)));
    const auto pair =
        IssueCertificate(authority_, {.role = role,
                                      .names = {name},
                                      .not_after = absl::FromUnixSeconds(4e9)});
    EXPECT_OK(pair);
    EXPECT_OK(WriteFile(stem + ".pem", pair->certificate));
    EXPECT_OK(WriteFile(stem + ".key", pair->key, FileAccess::kOwnerOnly));
    return {.authority = directory_.File("authority.pem"),
            .certificate = stem + ".pem",
            .key = stem + ".key"};
  }

  std::shared_ptr<grpc::Channel> Connect(Role role, const std::string& name) {
    const auto credentials = ClientCredentials(Issue(role, name));
    EXPECT_OK(credentials);
    return grpc::CreateChannel(server_->address(), *credentials);
  }

  testing::TempDirectory directory_;
  KeyPair authority_;
  testing::TestStore test_store_;
  StandingStore standing_{&*test_store_};
  Fleet fleet_{&*test_store_};
  Hub hub_{&standing_, {}};
  CallerQuota quota_;
  Subscriptions subscriptions_{&standing_, &fleet_, &hub_, &Clock::Real(),
                               &quota_};
  Planner planner_{{}};
  Ingest ingest_{&*test_store_, &hub_, &planner_, {}};
  std::vector<std::unique_ptr<StreamService>> streams_;
  std::unique_ptr<RpcServer> server_;
};

v1::SubscribeRequest Request(const std::string& path) {
  v1::SubscribeRequest request;
  request.add_paths(path);
  return request;
}

TEST_F(SubscriptionServiceTest, StreamsDoNotWaitForPathResolution) {
  const auto reader =
      v1::SubscriptionService::NewStub(Connect(Role::kReader, "carol"));
  standing_.Stand();
  grpc::ClientContext context;
  const auto values = reader->Subscribe(&context, Request(kQueue));
  standing_.WaitUntilLooking();

  const auto agent =
      v1::CollectionService::NewStub(Connect(Role::kAgent, "box"));
  grpc::ClientContext collect_context;
  const auto stream = agent->Collect(&collect_context);
  v1::CollectRequest hello;
  hello.mutable_hello()->set_agent("box");
  hello.mutable_hello()->set_epoch(7);
  hello.mutable_hello()->add_held_epochs()->set_epoch(7);
  hello.mutable_hello()->mutable_held_epochs(0)->set_first_sequence(1);
  ASSERT_TRUE(stream->Write(hello));
  v1::CollectResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(response.has_welcome());
  stream->WritesDone();
  while (stream->Read(&response)) {
  }
  EXPECT_TRUE(stream->Finish().ok());

  standing_.Release();
  v1::SubscribeResponse message;
  ASSERT_TRUE(values->Read(&message));
  EXPECT_EQ(message.series_size(), 1);
  context.TryCancel();
  while (values->Read(&message)) {
  }
  values->Finish();
}

// The subscriber disconnects while its paths are resolved.
TEST_F(SubscriptionServiceTest, SubscriberMayDisconnectBeforeTheStart) {
  const auto reader =
      v1::SubscriptionService::NewStub(Connect(Role::kReader, "carol"));
  standing_.Stand();
  grpc::ClientContext context;
  const auto values = reader->Subscribe(&context, Request(kQueue));
  standing_.WaitUntilLooking();
  context.TryCancel();
  v1::SubscribeResponse message;
  EXPECT_FALSE(values->Read(&message));
  EXPECT_EQ(values->Finish().error_code(), grpc::StatusCode::CANCELLED);
  standing_.Release();
  // The end of the server waits for the stream.
  server_.reset();
}

TEST_F(SubscriptionServiceTest, RefusesPathsThatSelectNothing) {
  const auto reader =
      v1::SubscriptionService::NewStub(Connect(Role::kReader, "carol"));
  grpc::ClientContext context;
  const auto values =
      reader->Subscribe(&context, Request("\\Disk(*)\\No such counter"));
  v1::SubscribeResponse message;
  EXPECT_FALSE(values->Read(&message));
  EXPECT_EQ(values->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace fleetperf::aggregator
