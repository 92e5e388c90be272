// Tests of authorization by certificates.

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_split.h"
#include "base/os/files.h"
#include "base/rpc/channel.h"
#include "base/tls/certificates.h"
#include "perflib/layout.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/fake_agent.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {
namespace {

using ::testing::_;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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

// The clone has the certificate and the state of the first machine: it holds
// the first one's epoch, and replaces it.
TEST(Security, NamesAMachineAndItsClone) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = deployment.Issue("agent", {"box"});
  FakeAgent first(deployment.address(), tls, MakeHello("box", kEpoch, 1, 0));
  ASSERT_TRUE(first.Receive().has_value());
  v1::Hello cloned = MakeHello("box", kEpoch, 1, 0);
  *cloned.add_held_epochs() = MakeHello("box", kEpoch + 1, 1, 0).held_epochs(0);
  cloned.set_epoch(kEpoch + 1);
  FakeAgent clone(deployment.address(), tls, cloned);
  ASSERT_TRUE(clone.Receive().has_value());
  FakeAgent back(deployment.address(), tls, MakeHello("box", kEpoch, 1, 0));
  EXPECT_FALSE(back.Receive().has_value());
  EXPECT_THAT(back.Finish(), StatusIs(absl::StatusCode::kAlreadyExists, _));

  EXPECT_TRUE(aggregator->WaitForError("two agents are named \"box\""))
      << aggregator->error();
  const auto machines = deployment.Json({"machines"});
  ASSERT_EQ(machines.size(), 1);
  EXPECT_EQ(machines[0]["state"], "connected, no new samples");
  EXPECT_THAT(std::string(machines[0]["name_conflict"]),
              ContainsRegex("connected from .*127.0.0.1:[0-9]+, another "
                            "one from .*127.0.0.1:[0-9]+"));
  EXPECT_THAT(deployment.Fleetperf({"machines"}).output,
              HasSubstr("another one from"));
  EXPECT_EQ(deployment.Json({"status"})[0]["name_conflicts"], 1);
  EXPECT_THAT(deployment.Fleetperf({"status"}).error,
              HasSubstr("Machines whose name two agents use: box. See"));
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
  EXPECT_THAT(asking->output(), Not(HasSubstr("forged")));
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

// Asks a server that shows the certificate `tls`, without checking it itself.
Result AskServerOf(const TlsFiles& tls, const Deployment& deployment) {
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {*ReadFile(tls.key), *ReadFile(tls.certificate)});
  grpc::ServerBuilder builder;
  builder.AddListeningPort(deployment.address(),
                           grpc::SslServerCredentials(options));
  grpc::CallbackGenericService service;
  builder.RegisterCallbackGenericService(&service);
  const auto server = builder.BuildAndStart();
  EXPECT_NE(server, nullptr);
  Result asked = deployment.Fleetperf({"machines"});
  server->Shutdown();
  return asked;
}

TEST(Security, AgentCertificateCannotServe) {
  Deployment deployment;
  const auto stopped = deployment.StartAggregator();
  stopped->Signal(SIGTERM);
  EXPECT_EQ(stopped->Wait(), 0);
  const TlsFiles agent = deployment.Issue("agent", {"localhost", "127.0.0.1"});
  TlsFiles right = agent;
  right.certificate = deployment.File("aggregator-localhost.pem");
  right.key = deployment.File("aggregator-localhost.key");
  const std::string no_trust = "cannot reach the aggregator";
  EXPECT_THAT(AskServerOf(right, deployment).error, Not(HasSubstr(no_trust)));
  EXPECT_THAT(AskServerOf(agent, deployment).error, HasSubstr(no_trust));

  // The aggregator does check it.
  for (const auto& [from, ending] :
       {std::pair(agent.certificate, ".pem"), std::pair(agent.key, ".key")}) {
    const std::string to = deployment.File("aggregator-localhost") + ending;
    ASSERT_EQ(RunCommand({"cp", from, to}).status, 0);
  }
  const Result started =
      RunCommand({Deployment::Executable("fleetperf-aggregator"), "--config",
                  deployment.File("aggregator.yaml")});
  EXPECT_EQ(started.status, 1);
  EXPECT_THAT(started.error, HasSubstr("has the role agent"));
}

// So the key of an aggregator gives no access to another one.
TEST(Security, AggregatorCertificateIsNoClients) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles tls = {
      .authority = deployment.File("authority.pem"),
      .certificate = deployment.File("aggregator-localhost.pem"),
      .key = deployment.File("aggregator-localhost.key")};
  const Result asked = deployment.Fleetperf(With(tls, {"machines"}));
  EXPECT_EQ(asked.status, 1) << asked.output;
  EXPECT_EQ(asked.output, "");
  EXPECT_TRUE(aggregator->WaitForError("the TLS handshake of 127.0.0.1"))
      << aggregator->error();
}

// Issues a certificate that expires soon.
TlsFiles IssueFor(absl::Duration valid, const Deployment& deployment,
                  const std::string& role,
                  const std::vector<std::string>& names) {
  std::vector<std::string> command = {Deployment::Executable("fleetperf"),
                                      "pki",
                                      "issue",
                                      role,
                                      "--directory",
                                      deployment.directory(),
                                      "--force",
                                      "--valid",
                                      absl::FormatDuration(valid)};
  command.insert(command.end(), names.begin(), names.end());
  const Result issued = RunCommand(command);
  EXPECT_EQ(issued.status, 0) << issued.error;
  const std::string stem = deployment.File(role + "-" + names.front());
  return {.authority = deployment.File("authority.pem"),
          .certificate = stem + ".pem",
          .key = stem + ".key"};
}

absl::Time ExpiryOf(const TlsFiles& tls) {
  return ReadCertificate(*ReadFile(tls.certificate))->not_after;
}

void Revoke(const Deployment& deployment, const std::string& role,
            const std::string& name) {
  const Result revoked =
      RunCommand({Deployment::Executable("fleetperf"), "pki", "revoke", role,
                  name, "--directory", deployment.directory()});
  EXPECT_EQ(revoked.status, 0) << revoked.error;
}

// Receives until the stream ends.
void ReceiveAll(FakeAgent& agent) {
  while (agent.Receive().has_value()) {
  }
}

TEST(Security, RevocationEndsStreamsAndRefusesCalls) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator("  revoked: revoked\n");
  const TlsFiles alice = deployment.Issue("reader", {"alice"});
  const TlsFiles box = deployment.Issue("agent", {"box"});
  FakeAgent agent(deployment.address(), box, MakeHello("box", kEpoch, 1, 0));
  FakeAgent honest(deployment.address(), deployment.Issue("agent", {"honest"}),
                   MakeHello("honest", kEpoch, 1, 1));
  ASSERT_TRUE(agent.Receive().has_value());
  ASSERT_TRUE(honest.Receive().has_value());
  const auto watch = deployment.StartFleetperf(
      With(alice, {"watch", "\\fleetperf Aggregator\\Connections"}));
  ASSERT_TRUE(watch->WaitForOutput("Connections")) << watch->error();

  Revoke(deployment, "agent", "box");
  Revoke(deployment, "reader", "alice");
  ReceiveAll(agent);
  EXPECT_THAT(agent.Finish(), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_TRUE(watch->WaitForError("connecting again")) << watch->error();
  EXPECT_TRUE(aggregator->WaitForError("certificate \"box\" was revoked"));
  EXPECT_TRUE(aggregator->WaitForError("certificate \"alice\" was revoked"));

  const Result asked = deployment.Fleetperf(With(alice, {"machines"}));
  EXPECT_EQ(asked.status, 1);
  EXPECT_THAT(asked.error, HasSubstr("nor revoked"));
  FakeAgent again(deployment.address(), box, MakeHello("box", kEpoch, 1, 0));
  EXPECT_FALSE(again.Receive().has_value());
  // Others notice nothing.
  honest.Send(MakeNumberBatch("honest", kEpoch, 1, 0));
  EXPECT_TRUE(honest.ReceiveAck(1));
  EXPECT_EQ(deployment.Fleetperf({"machines"}).status, 0);
  // A new certificate for the same machine is accepted.
  FakeAgent renewed(deployment.address(), deployment.Issue("agent", {"box"}),
                    MakeHello("box", kEpoch, 1, 0));
  EXPECT_TRUE(renewed.Receive().has_value());
}

// Nobody writes to the FIFO, so that a read of it would never end.
TEST(Security, AFifoAsRevokedListIsAnAlarmAndDelaysNothing) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator("  revoked: revoked\n");
  const TlsFiles box = deployment.Issue("agent", {"box"});
  Revoke(deployment, "agent", "box");
  ASSERT_TRUE(aggregator->WaitForError("certificates are revoked"));
  const std::string list = deployment.File("revoked");
  const std::string fifo = deployment.File("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_OK(RenameFile(fifo, list));
  EXPECT_TRUE(aggregator->WaitForError(list + " is a FIFO"))
      << aggregator->error();
  // The last good list stays in use, and others notice nothing.
  FakeAgent agent(deployment.address(), box, MakeHello("box", kEpoch, 1, 0));
  EXPECT_FALSE(agent.Receive().has_value());
  EXPECT_THAT(deployment.Fleetperf({"machines"}).error,
              HasSubstr("no agent has connected yet"));
  aggregator->Signal(SIGTERM);
  EXPECT_EQ(aggregator->Wait(), 0) << aggregator->error();
}

TEST(Security, ExpiryEndsStreams) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  TlsFiles tls;
  std::optional<FakeAgent> agent;
  bool is_welcome = false;
  // A slow machine may connect only after a short validity.
  for (const int seconds : {10, 60}) {
    tls = IssueFor(absl::Seconds(seconds), deployment, "agent", {"box"});
    agent.emplace(deployment.address(), tls, MakeHello("box", kEpoch, 1, 0));
    is_welcome = agent->Receive().has_value();
    if (is_welcome) break;
  }
  ASSERT_TRUE(is_welcome);
  ReceiveAll(*agent);
  EXPECT_GE(absl::Now(), ExpiryOf(tls));
  EXPECT_TRUE(aggregator->WaitForError("certificate \"box\" has expired"));
}

TEST(Security, RenewedCertificatesNeedNoRestart) {
  // Long enough for a sanitizer's build on a busy machine to get samples.
  constexpr absl::Duration kValid = absl::Seconds(30);
  Deployment deployment;
  IssueFor(kValid, deployment, "aggregator", {"localhost", "127.0.0.1"});
  const auto aggregator = deployment.StartAggregator();
  const std::string config = deployment.WriteAgentConfig("box", {}, "");
  const absl::Time expiry =
      ExpiryOf(IssueFor(kValid, deployment, "agent", {"box"}));
  const Process agent(
      {Deployment::Executable("fleetperf-agent"), "--config", config});
  deployment.WaitForSamples("box");
  deployment.Issue("aggregator", {"localhost", "127.0.0.1"});
  deployment.Issue("agent", {"box"});
  absl::Time newest;
  const absl::Time deadline = absl::Now() + kPatience;
  while (newest <= expiry && absl::Now() < deadline) {
    for (const auto& line : deployment.Json(
             {"query", "\\\\box\\System\\Processes", "--since", "1m"})) {
      if (line["status"] == "ok") newest = TimeOf(line);
    }
  }
  EXPECT_GT(newest, expiry);
  EXPECT_THAT(aggregator->error(), HasSubstr("using a renewed certificate"));
}

TEST(Security, LogsDenialsAndFailedHandshakes) {
  Deployment deployment;
  Deployment stranger;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles agent = deployment.Issue("agent", {"box"});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(deployment.Fleetperf(With(agent, {"machines"})).status, 1);
  }
  EXPECT_TRUE(aggregator->WaitForError("with certificate \"box\": this call"));
  TlsFiles mixed = stranger.Issue("reader", {"mallory"});
  mixed.authority = deployment.File("authority.pem");
  EXPECT_EQ(deployment.Fleetperf(With(mixed, {"machines"})).status, 1);
  EXPECT_TRUE(aggregator->WaitForError("with certificate \"mallory\" failed"));
  EXPECT_THAT(
      std::vector<std::string>(absl::StrSplit(aggregator->error(), "denied a")),
      ::testing::SizeIs(2));  // one line
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

TEST(Security, RefusesKeysThatOthersMayRead) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const TlsFiles reader = deployment.Issue("reader", {"alice"});
  ASSERT_EQ(RunCommand({"chmod", "640", reader.key}).status, 0);
  const Result asked = deployment.Fleetperf(With(reader, {"machines"}));
  EXPECT_EQ(asked.status, 1);
  EXPECT_THAT(asked.error, HasSubstr("run: chmod 600 '" + reader.key + "'"));
}

// Returns the files and directories below `directory`, itself included, that
// the group or others may access.
std::vector<std::string> OpenToOthers(const std::string& directory) {
  using std::filesystem::perms;
  std::vector<std::string> found;
  const auto examine = [&](const std::filesystem::path& path) {
    const perms others = std::filesystem::status(path).permissions() &
                         (perms::group_all | perms::others_all);
    if (others != perms::none) found.push_back(path.string());
  };
  examine(directory);
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(directory)) {
    examine(entry.path());
  }
  return found;
}

TEST(Security, KeepsSamplesFromOtherUsers) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const auto agent =
      deployment.StartAgent("web-1", "capture: {directory: capture}\n");
  deployment.WaitForSamples("web-1");
  const TlsFiles tls = deployment.Issue("operator", {"bob"});
  const Result backup =
      deployment.Fleetperf(With(tls, {"backup", deployment.File("backup")}));
  EXPECT_EQ(backup.status, 0) << backup.error;
  for (Process* const daemon : {agent.get(), aggregator.get()}) {
    daemon->Signal(SIGTERM);
    EXPECT_EQ(daemon->Wait(), 0);
  }
  for (const std::string directory :
       {"store", "state-web-1", "capture", "backup"}) {
    EXPECT_THAT(OpenToOthers(deployment.File(directory)), IsEmpty());
  }
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
