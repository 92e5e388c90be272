#include "tests/hostile/enrolment_bystander.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/rpc/rpc_deadline.h"
#include "fleetperf/v1/enrolment.grpc.pb.h"

namespace fleetperf::testing {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(100);

// Asks with a token that does not exist, on a new connection. Returns an error
// text if the answer does not say so.
std::string AskForCertificate(int port, const std::string& authority) {
  grpc::SslCredentialsOptions credentials;
  credentials.pem_root_certs = authority;
  grpc::ChannelArguments arguments;
  arguments.SetSslTargetNameOverride("fleetperf-enrolment");
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel =
      grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                grpc::SslCredentials(credentials), arguments);
  grpc::ClientContext context;
  context.set_deadline(RpcDeadline(kPatience));
  v1::EnrollRequest request;
  request.set_token("wrong");
  v1::EnrollResponse response;
  const grpc::Status status = v1::EnrolmentService::NewStub(channel)->Enroll(
      &context, request, &response);
  if (status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) return "";
  return absl::StrCat("the enrolment server did not answer: ",
                      status.error_code(), " ", status.error_message());
}

}  // namespace

EnrolmentBystander::EnrolmentBystander(Deployment* deployment)
    : deployment_(*deployment),
      server_({Deployment::Executable("fleetperf"), "pki", "serve",
               "--directory", deployment->directory(), "--listen",
               "127.0.0.1:0"}) {
  const std::string listening = "listening on 127.0.0.1:";
  EXPECT_TRUE(server_.WaitForError(listening)) << server_.error();
  const std::string log = server_.error();
  const size_t at = log.find(listening) + listening.size();
  EXPECT_TRUE(absl::SimpleAtoi(log.substr(at, log.find(' ', at) - at), &port_));
  client_ = std::thread([this] { Run(); });
}

EnrolmentBystander::~EnrolmentBystander() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.Notify();
  }
  client_.join();
  server_.Signal(SIGTERM);
  EXPECT_EQ(server_.Wait(), 0) << server_.error();
}

void EnrolmentBystander::AwaitMeasures() {
  absl::MutexLock lock(&mutex_);
  changed_.Await(&mutex_, kPatience,
                 [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                   return !measured_.answers.empty() || !failure_.empty();
                 });
}

Measured EnrolmentBystander::Next() {
  absl::MutexLock lock(&mutex_);
  measured_.AddUsage(server_.pid());
  return std::exchange(measured_, {});
}

std::string EnrolmentBystander::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

std::string EnrolmentBystander::Enroll(const std::string& name) {
  const Result token =
      RunCommand({Deployment::Executable("fleetperf"), "pki", "token", name,
                  "--directory", deployment_.directory()});
  if (token.status != 0) return token.error;
  const std::string config = deployment_.File(name + ".yaml");
  const auto file = [&](const char* ending) {
    return deployment_.File(absl::StrCat("enrolled-", name, ending));
  };
  Deployment::Write(
      config, absl::StrCat("name: ", name,
                           "\naggregators: ['localhost:7443']\n"
                           "state_directory: state-",
                           name, "\n",
                           Deployment::TlsSection({.authority = file(".ca"),
                                                   .certificate = file(".pem"),
                                                   .key = file(".key")})));
  const Result enrolled =
      RunCommand({Deployment::Executable("fleetperf-agent"), "enroll",
                  absl::StrCat("127.0.0.1:", port_),
                  std::string(absl::StripAsciiWhitespace(token.output)),
                  "--config", config});
  return enrolled.status == 0 ? "" : enrolled.error;
}

void EnrolmentBystander::Run() {
  const auto authority = ReadFile(deployment_.File("authority.pem"));
  for (;;) {
    const absl::Duration begun = Clock::Real().Monotonic();
    const std::string error = authority.ok()
                                  ? AskForCertificate(port_, *authority)
                                  : std::string(authority.status().message());
    absl::MutexLock lock(&mutex_);
    if (failure_.empty()) failure_ = error;
    measured_.answers.push_back(Clock::Real().Monotonic() - begun);
    measured_.AddUsage(server_.pid());
    changed_.Notify();
    if (changed_.Await(&mutex_, kPause,
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                         return stopping_;
                       })) {
      return;
    }
  }
}

}  // namespace fleetperf::testing
