// Tests that connections without a certificate, and calls in excess, do not
// affect other clients.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/rpc/channel.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/support/raw_connection.h"

namespace fleetperf::testing {
namespace {

int PortOf(const Deployment& deployment) {
  const std::string& address = deployment.address();
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  return port;
}

std::vector<RawConnection> Connect(const Deployment& deployment, int count,
                                   const std::string& from) {
  std::vector<RawConnection> connections;
  for (int i = 0; i < count; ++i) {
    connections.emplace_back(PortOf(deployment), from);
  }
  return connections;
}

// Returns whether the aggregator answers, even if no agent has connected.
bool Answers(const Deployment& deployment) {
  const Result result = deployment.Fleetperf({"machines"});
  return result.status == 0 ||
         absl::StrContains(result.error, "no agent has connected yet");
}

bool WaitUntilAnswers(const Deployment& deployment) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (absl::Now() < deadline) {
    if (Answers(deployment)) return true;
  }
  return false;
}

// Limits a process to `more` descriptors in addition to the open ones.
void LimitDescriptors(pid_t pid, int more) {
  const std::filesystem::directory_iterator open(
      absl::StrCat("/proc/", pid, "/fd"));
  rlimit limit;
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, nullptr, &limit), 0);
  limit.rlim_cur = static_cast<rlim_t>(std::distance(begin(open), end(open))) +
                   static_cast<rlim_t>(more);
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &limit, nullptr), 0);
}

TEST(Connections, RecoversFromDescriptorExhaustion) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  ASSERT_TRUE(Answers(deployment));
  LimitDescriptors(aggregator->pid(), 40);
  {
    const auto flood = Connect(deployment, 200, "127.0.0.1");
    EXPECT_TRUE(
        aggregator->WaitForError("the process has no file descriptor left"));
    EXPECT_TRUE(WaitUntilAnswers(deployment)) << "during the flood";
  }
  EXPECT_TRUE(WaitUntilAnswers(deployment)) << "after the flood";
}

TEST(Connections, FloodFromOneAddressDoesNotBlockOthers) {
  Deployment deployment;
  const auto aggregator =
      deployment.StartAggregator("connections: {max_unauthenticated: 8}\n");
  const auto flood = Connect(deployment, 100, "127.0.0.2");
  EXPECT_TRUE(Answers(deployment));
  EXPECT_TRUE(aggregator->WaitForError(
      "refused a connection from 127.0.0.2: 8 connections have not shown"));
}

TEST(Connections, LimitsConnectionsPerAddress) {
  Deployment deployment;
  const auto aggregator =
      deployment.StartAggregator("connections: {max_per_address: 4}\n");
  const auto flood = Connect(deployment, 5, "127.0.0.2");
  EXPECT_TRUE(flood[4].WaitUntilClosed());
  EXPECT_TRUE(aggregator->WaitForError(
      "refused a connection from 127.0.0.2: 4 connections from this "
      "address are open"));
  EXPECT_TRUE(Answers(deployment));
}

TEST(Connections, FloodEndsNoOpenStream) {
  Deployment deployment;
  const auto aggregator =
      deployment.StartAggregator("connections: {max_unauthenticated: 1}\n");
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  FakeAgent agent(deployment.address(), tls, MakeHello("box", kEpoch, 1, 0));
  ASSERT_TRUE(agent.Receive().has_value());
  // An authenticated connection does not count against the limit.
  const TlsFiles other_tls = deployment.Issue("agent", {"other"});
  FakeAgent other(deployment.address(), other_tls,
                  MakeHello("other", kEpoch, 1, 0));
  ASSERT_TRUE(other.Receive().has_value());
  const auto flood = Connect(deployment, 50, "127.0.0.1");
  EXPECT_TRUE(flood.back().WaitUntilClosed());
  agent.Send(MakeNumberBatch("box", kEpoch, 1, 0));
  EXPECT_TRUE(agent.ReceiveAck(1));
}

// A call that occupies a thread of the server until the object is destroyed:
// gRPC's reflection service waits for the next request.
class LongCall {
 public:
  explicit LongCall(grpc::GenericStub* stub) {
    call_ = stub->PrepareCall(&context_,
                              "/grpc.reflection.v1alpha.ServerReflection/"
                              "ServerReflectionInfo",
                              &queue_);
    call_->StartCall(this);
    Wait();
    const grpc::Slice empty("");
    call_->Write(grpc::ByteBuffer(&empty, 1), this);
    Wait();
    grpc::ByteBuffer response;
    call_->Read(&response, this);
    if (Wait()) return;
    call_->Finish(&status_, this);
    Wait();
  }
  ~LongCall() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  // The reason for which the call was refused; OK if the call is in progress.
  const grpc::Status& status() const { return status_; }

 private:
  bool Wait() {
    void* tag;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  grpc::Status status_;
};

TEST(Connections, LimitsThreadsOfCalls) {
  constexpr int kAtATime = 160;  // docs/reference/security.md
  constexpr int kCalls = 300;
  constexpr int kStreams = 30;  // per certificate, which may have 32
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs;
  std::vector<std::unique_ptr<LongCall>> calls;
  int refused = 0;
  for (int i = 0; i < kCalls; ++i) {
    if (i % kStreams == 0) {
      const TlsFiles reader =
          deployment.Issue("reader", {absl::StrCat("tester-", i)});
      stubs.push_back(std::make_unique<grpc::GenericStub>(
          MakeChannel(deployment.address(), *ClientCredentials(reader))));
    }
    calls.push_back(std::make_unique<LongCall>(stubs.back().get()));
    const grpc::Status& status = calls.back()->status();
    if (status.ok()) continue;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
        << status.error_message();
    ++refused;
  }
  EXPECT_GE(refused, kCalls - kAtATime);
  EXPECT_LT(refused, kCalls - kAtATime / 2);
  // Agents do not depend on these threads.
  FakeAgent agent(deployment.address(), deployment.Issue("agent", {"box"}),
                  MakeHello("box", kEpoch, 1, 0));
  EXPECT_TRUE(agent.Receive().has_value());
  calls.clear();
  EXPECT_TRUE(WaitUntilAnswers(deployment));
}

TEST(Connections, LimitsCallsOfACertificate) {
  constexpr int kCalls = 32;  // docs/reference/security.md
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles reader = deployment.Issue("reader", {"busy"});
  grpc::GenericStub stub(
      MakeChannel(deployment.address(), *ClientCredentials(reader)));
  std::vector<std::unique_ptr<LongCall>> calls;
  for (int i = 0; i < kCalls; ++i) {
    calls.push_back(std::make_unique<LongCall>(&stub));
    ASSERT_TRUE(calls.back()->status().ok());
  }
  const LongCall excess(&stub);
  EXPECT_EQ(excess.status().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(excess.status().error_message(),
              ::testing::HasSubstr("32 calls in progress"));
  EXPECT_TRUE(Answers(deployment));  // to another certificate
}

TEST(Connections, ClosesUnfinishedHandshake) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const RawConnection silent(PortOf(deployment));
  EXPECT_TRUE(silent.WaitUntilClosed());
}

}  // namespace
}  // namespace fleetperf::testing
