// Tests of `fleetperf pki token` and `serve`, and `fleetperf-agent enroll`.

#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/os/files.h"
#include "base/os/input_file.h"
#include "base/tls/enrolment_token.h"
#include "fleetperf/v1/enrolment.grpc.pb.h"
#include "tests/e2e/deployment.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;

class Enrolment : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<Process>(std::vector<std::string>{
        Deployment::Executable("fleetperf"), "pki", "serve", "--directory",
        deployment_.directory(), "--listen", "127.0.0.1:0"});
    const std::string listening = "listening on 127.0.0.1:";
    ASSERT_TRUE(server_->WaitForError(listening));
    const std::string log = server_->error();
    const size_t at = log.find(listening) + listening.size();
    port_ = log.substr(at, log.find(' ', at) - at);
  }

  // Returns a new token.
  std::string Token(const std::string& name,
                    const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {Deployment::Executable("fleetperf"),
                                        "pki",
                                        "token",
                                        name,
                                        "--directory",
                                        deployment_.directory()};
    command.insert(command.end(), more.begin(), more.end());
    const Result made = RunCommand(command);
    EXPECT_EQ(made.status, 0) << made.error;
    return std::string(absl::StripAsciiWhitespace(made.output));
  }

  // Writes the configuration of an agent without a certificate.
  std::string WriteConfig(const std::string& name) {
    const std::string path = deployment_.File(name + ".yaml");
    const bool is_served = !absl::EndsWith(deployment_.address(), ":0");
    Deployment::Write(
        path,
        absl::StrCat("name: ", name, "\naggregators: ['",
                     is_served ? deployment_.address() : "localhost:7443",
                     "']\nstate_directory: state-", name, "\n",
                     Deployment::TlsSection({.authority = File(name, ".ca"),
                                             .certificate = File(name, ".pem"),
                                             .key = File(name, ".key")})));
    return path;
  }

  std::string File(const std::string& name, const std::string& ending) const {
    return deployment_.File("enrolled-" + name + ending);
  }

  Result Enroll(const std::string& name, const std::string& token) {
    return RunCommand({Deployment::Executable("fleetperf-agent"), "enroll",
                       "127.0.0.1:" + port_, token, "--config",
                       WriteConfig(name)});
  }

  void ExpectRefused(const std::string& name, const std::string& token,
                     const std::string& reason) {
    const Result enrolled = Enroll(name, token);
    EXPECT_EQ(enrolled.status, 1) << token;
    EXPECT_THAT(enrolled.error, HasSubstr(reason)) << token;
    EXPECT_FALSE(FileExists(File(name, ".key")));
  }

  Deployment deployment_;
  std::unique_ptr<Process> server_;
  std::string port_;
};

TEST_F(Enrolment, GivesAnAgentItsCertificateOnce) {
  const auto aggregator = deployment_.StartAggregator();
  const std::string token = Token("web-1");
  const Result enrolled = Enroll("web-1", token);
  ASSERT_EQ(enrolled.status, 0) << enrolled.error;
  EXPECT_OK(ReadSecretFile(File("web-1", ".key")));
  const Process agent({Deployment::Executable("fleetperf-agent"), "--config",
                       deployment_.File("web-1.yaml")});
  deployment_.WaitForSamples("web-1");

  // The files are not replaced, and nobody else can use the token.
  EXPECT_THAT(Enroll("web-1", token).error, HasSubstr("remove it to enroll"));
  ASSERT_OK(RemoveFile(File("web-1", ".key")));
  ExpectRefused("web-1", token, "was used");
}

TEST_F(Enrolment, RefusesAlteredTokens) {
  const std::string token = Token("web-1");
  const auto with = [&](auto change) {
    EnrolmentToken altered = *ParseEnrolmentToken(token);
    change(altered);
    return FormatEnrolmentToken(altered);
  };
  const std::string other(64, '0');
  ExpectRefused("web-2", with([](auto& t) { t.names = {"web-2"}; }),
                "has been altered");
  ExpectRefused("web-1", with([](auto& t) { t.names.push_back("db1"); }),
                "has been altered");
  ExpectRefused("web-1", with([](auto& t) { t.expiry += absl::Hours(1); }),
                "has been altered");
  ExpectRefused("web-1", with([&](auto& t) { t.secret = other; }),
                "has been altered");
  ExpectRefused("web-1", with([&](auto& t) { t.authority = other; }),
                "cannot enroll");
  ExpectRefused("web-1", token.substr(0, token.size() - 6), "whole token");
  ExpectRefused("web-2", token, "does not name \"web-2\"");
  // None of these has spent the token.
  EXPECT_EQ(Enroll("web-1", token).status, 0);
}

TEST_F(Enrolment, SpendsNoTokenIfTheKeyCannotBeWritten) {
  const std::string token = Token("web-1");
  const std::string path = WriteConfig("web-1");
  Deployment::Write(
      path, absl::StrReplaceAll(
                *ReadFile(path),
                {{File("web-1", ".key"), deployment_.File("missing/key")}}));
  const Result enrolled =
      RunCommand({Deployment::Executable("fleetperf-agent"), "enroll",
                  "127.0.0.1:" + port_, token, "--config", path});
  EXPECT_EQ(enrolled.status, 1);
  EXPECT_THAT(enrolled.error, HasSubstr("missing/key"));
  EXPECT_EQ(Enroll("web-1", token).status, 0);
}

TEST_F(Enrolment, RefusesExpiredTokens) {
  ExpectRefused("web-1", Token("web-1", {"--valid", "1ms"}),
                "the token expired at");
}

// Collects tokens, as the holder of an aggregator's certificate would.
class TokenCollector : public v1::EnrolmentService::Service {
 public:
  grpc::Status Enroll(grpc::ServerContext*, const v1::EnrollRequest*,
                      v1::EnrollResponse*) override {
    ++tokens_;
    return grpc::Status::OK;
  }
  int tokens() const { return tokens_; }

 private:
  std::atomic<int> tokens_ = 0;
};

TEST_F(Enrolment, SendsNoTokenToAnAggregator) {
  const TlsFiles stolen = deployment_.Issue("aggregator", {"127.0.0.1"});
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_key_cert_pairs.push_back(
      {*ReadFile(stolen.key),
       *ReadFile(stolen.certificate) + *ReadFile(stolen.authority)});
  TokenCollector collector;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options),
                           &port);
  builder.RegisterService(&collector);
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);

  const std::string token = Token("web-1");
  const std::string honest = std::exchange(port_, absl::StrCat(port));
  ExpectRefused("web-1", token, "cannot enroll");
  EXPECT_EQ(collector.tokens(), 0);
  port_ = honest;
  EXPECT_EQ(Enroll("web-1", token).status, 0);
}

TEST_F(Enrolment, RefusesServersOfOtherAuthorities) {
  Deployment stranger;
  const Result made =
      RunCommand({Deployment::Executable("fleetperf"), "pki", "token", "web-1",
                  "--directory", stranger.directory()});
  ExpectRefused("web-1", std::string(absl::StripAsciiWhitespace(made.output)),
                "cannot enroll");
}

}  // namespace
}  // namespace fleetperf::testing
