// Tests of authorization by certificates.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "base/channel.h"
#include "perflib/layout.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;

// Returns `arguments` with flags that select the certificate `tls`.
std::vector<std::string> With(const TlsFiles& tls,
                              std::vector<std::string> arguments) {
  arguments.insert(arguments.end(),
                   {"--authority", tls.authority, "--certificate",
                    tls.certificate, "--key", tls.key});
  return arguments;
}

TEST(Security, AgentMayOnlyUseNamesInItsCertificate) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"web-1"});

  FakeAgent impostor(deployment.address(), tls,
                     MakeHello("web-2", kEpoch, 1, 0));
  EXPECT_FALSE(impostor.Receive().has_value());
  EXPECT_THAT(impostor.Finish(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("does not name \"web-2\"")));

  FakeAgent agent(deployment.address(), tls, MakeHello("web-1", kEpoch, 1, 0));
  ASSERT_TRUE(agent.Receive().has_value());
  agent.Send(MakeNumberBatch("web-2", kEpoch, 1, 0));
  EXPECT_FALSE(agent.Receive().has_value());
  EXPECT_THAT(agent.Finish(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("does not name machine \"web-2\"")));
}

TEST(Security, RefusesSecondAgentOfSameName) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  FakeAgent first(deployment.address(), tls, MakeHello("box", 1, 1, 0));
  ASSERT_TRUE(first.Receive().has_value());
  FakeAgent second(deployment.address(), tls, MakeHello("box", 2, 1, 0));
  EXPECT_FALSE(second.Receive().has_value());
  EXPECT_THAT(second.Finish(),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("another agent named \"box\"")));
  // The same process may reconnect before the aggregator has detected the end
  // of its old connection.
  FakeAgent again(deployment.address(), tls, MakeHello("box", 1, 1, 0));
  EXPECT_TRUE(again.Receive().has_value());
}

// Receives until `is_wanted` holds for a message, and returns that message.
template <typename IsWanted>
v1::CollectResponse ReceiveUntil(FakeAgent& agent, IsWanted is_wanted) {
  for (;;) {
    const auto response = agent.Receive();
    if (!response.has_value()) {
      ADD_FAILURE() << "the stream has ended";
      return {};
    }
    if (is_wanted(*response)) return *response;
  }
}

TEST(Security, IgnoresAnswersOfOtherAgents) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto is_ack = [](const auto& response) { return response.has_ack(); };
  FakeAgent box(deployment.address(), deployment.Issue("agent", {"box"}),
                MakeHello("box", kEpoch, 1, 1));
  auto batch = MakeNumberBatch("box", kEpoch, 1, 0);
  EditContent(
      [](v1::BatchContent& content) {
        content.mutable_definitions()
            ->mutable_countersets(0)
            ->mutable_registration()
            ->set_instance_type(perflib::kCountersetMultipleInstances);
      },
      &batch);
  box.Send(batch);
  ReceiveUntil(box, is_ack);
  FakeAgent forger(deployment.address(), deployment.Issue("agent", {"forger"}),
                   MakeHello("forger", kEpoch, 1, 1));

  const auto asking = deployment.StartFleetperf(
      {"instances", "Numbers", "--machine", "box", "--format", "json"});
  const auto question = ReceiveUntil(
      box, [](const auto& r) { return r.has_enumerate_instances(); });
  const auto answer = [&](FakeAgent& agent, const std::string& name) {
    v1::CollectRequest request;
    v1::InstanceList* list = request.mutable_instance_list();
    list->set_request_id(question.enumerate_instances().request_id());
    list->add_instances()->set_name(name);
    agent.Send(request);
  };
  answer(forger, "forged");
  forger.Send(MakeNumberBatch("forger", kEpoch, 1, 0));
  ReceiveUntil(forger, is_ack);  // the forged answer has arrived
  answer(box, "genuine");
  EXPECT_TRUE(asking->WaitForOutput("genuine"));
  EXPECT_EQ(asking->Wait(), 0) << asking->error();
  EXPECT_THAT(asking->output(), ::testing::Not(HasSubstr("forged")));
}

TEST(Security, LimitsEpochsInHello) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  v1::Hello hello = MakeHello("box", kEpoch, 1, 0);
  for (int i = 0; i < 1024; ++i) hello.add_held_epochs()->set_epoch(100 + i);
  FakeAgent agent(deployment.address(), deployment.Issue("agent", {"box"}),
                  hello);
  EXPECT_FALSE(agent.Receive().has_value());
  EXPECT_THAT(agent.Finish(), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("has 1025 epochs")));
}

TEST(Security, EnforcesRoles) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles agent = deployment.Issue("agent", {"box"});
  const TlsFiles reader = deployment.Issue("reader", {"alice"});
  const Result asked = deployment.Fleetperf(With(agent, {"machines"}));
  EXPECT_EQ(asked.status, 1);
  EXPECT_THAT(asked.error, HasSubstr("requires the role reader or operator"));

  FakeAgent pretender(deployment.address(), reader,
                      MakeHello("alice", kEpoch, 1, 0));
  EXPECT_FALSE(pretender.Receive().has_value());
  EXPECT_THAT(pretender.Finish(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("requires the role agent")));
}

TEST(Security, RejectsCertificatesOfOtherAuthority) {
  Deployment deployment;
  Deployment stranger;
  const auto aggregator = deployment.StartAggregator();
  const Result asked = deployment.Fleetperf(
      With(stranger.Issue("reader", {"mallory"}), {"machines"}));
  EXPECT_EQ(asked.status, 1);
  EXPECT_THAT(asked.error,
              HasSubstr("both sides need certificates of the same authority"));
  // A client that trusts the aggregator's authority still needs a certificate
  // of that authority.
  TlsFiles mixed = stranger.Issue("reader", {"mallory"});
  mixed.authority = deployment.File("authority.pem");
  const Result mixed_up = deployment.Fleetperf(With(mixed, {"machines"}));
  EXPECT_EQ(mixed_up.status, 1);
  EXPECT_THAT(mixed_up.error, HasSubstr("cannot reach the aggregator"));
}

TEST(Security, AgentCertificateCannotServe) {
  Deployment deployment;
  const TlsFiles agent = deployment.Issue("agent", {"localhost"});
  for (const auto& [from, ending] :
       {std::pair(agent.certificate, ".pem"), std::pair(agent.key, ".key")}) {
    const std::string to = deployment.File("aggregator-localhost") + ending;
    ASSERT_EQ(RunCommand({"cp", from, to}).status, 0);
  }
  const auto aggregator = deployment.StartAggregator();
  const Result asked = deployment.Fleetperf({"machines"});
  EXPECT_EQ(asked.status, 1);
  EXPECT_THAT(asked.error, HasSubstr("cannot reach the aggregator"));
}

// Calls a unary method with a serialized request. Appends the serialized
// response to `response`.
grpc::Status Call(const std::string& address, const TlsFiles& tls,
                  const std::string& method, const std::string& request,
                  std::string* response) {
  grpc::GenericStub stub(MakeChannel(address, *ClientCredentials(tls)));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const grpc::Slice slice(request);
  const auto call = stub.PrepareUnaryCall(&context, method,
                                          grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer buffer;
  grpc::Status status;
  call->Finish(&buffer, &status, nullptr);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  std::vector<grpc::Slice> slices;
  if (status.ok()) buffer.Dump(&slices).ok();
  for (const grpc::Slice& part : slices) {
    response->append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return status;
}

TEST(Security, ServesHealthOverMutualTls) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  std::string response;
  const grpc::Status status =
      Call(deployment.address(), deployment.Issue("reader", {"probe"}),
           "/grpc.health.v1.Health/Check", "", &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response, std::string("\x08\x01", 2));  // SERVING
  const grpc::Status of_part =
      Call(deployment.address(), deployment.Issue("reader", {"probe"}),
           "/grpc.health.v1.Health/Check", "\x0A\x03web", &response);
  EXPECT_EQ(of_part.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(of_part.error_message(), HasSubstr("\"web\""));
}

}  // namespace
}  // namespace fleetperf::testing
