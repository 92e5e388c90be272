#include "aggregator/export/remote_write_client.h"

#include <sys/stat.h>

#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "base/tls/certificates.h"
#include "tests/support/http_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using testing::HttpAnswer;
using testing::HttpServer;
using ::testing::Not;
using ::testing::Optional;
using testing::StatusIs;

EngineTarget TargetAt(const HttpServer& server) {
  return {.url = server.url()};
}

class RemoteWriteClientTest : public ::testing::Test {
 protected:
  std::string WriteSecret(const std::string& name, const std::string& text) {
    const std::string path = directory_.File(name);
    EXPECT_OK(WriteFile(path, text, FileAccess::kOwnerOnly));
    return path;
  }

  const testing::TempDirectory directory_;
};

TEST_F(RemoteWriteClientTest, SendsBodiesOnOneConnection) {
  HttpServer server;
  RemoteWriteClient client(TargetAt(server));
  const std::string large(3 << 20, 'x');
  EXPECT_OK(client.Send(absl::string_view("a\0b", 3)));
  EXPECT_OK(client.Send(large));
  EXPECT_OK(client.Send(""));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].line, "POST /write HTTP/1.1");
  EXPECT_EQ(requests[0].body, std::string("a\0b", 3));
  EXPECT_TRUE(requests[1].body == large);
  EXPECT_EQ(requests[2].connection, 1);
  auto headers = requests[1].headers;
  EXPECT_EQ(headers["content-encoding"], "snappy");
  EXPECT_EQ(headers["content-type"], "application/x-protobuf");
  EXPECT_EQ(headers["x-prometheus-remote-write-version"], "0.1.0");
  EXPECT_THAT(headers["user-agent"], HasSubstr("fleetperf-aggregator/"));
  EXPECT_EQ(headers.count("authorization"), 0u);
  EXPECT_EQ(headers.count("expect"), 0u);
}

TEST_F(RemoteWriteClientTest, TellsWhatCanBeSentAgain) {
  const struct {
    int status;
    absl::StatusCode code;
    const char* advice;
  } kCases[] = {
      {400, absl::StatusCode::kInvalidArgument, ""},
      {401, absl::StatusCode::kUnauthenticated, "bearer_token_file"},
      {403, absl::StatusCode::kPermissionDenied, "right to write"},
      {404, absl::StatusCode::kUnavailable, "check url"},
      {408, absl::StatusCode::kUnavailable, ""},
      {413, absl::StatusCode::kInvalidArgument, ""},
      {429, absl::StatusCode::kUnavailable, ""},
      {500, absl::StatusCode::kInternal, ""},
      {503, absl::StatusCode::kUnavailable, ""},
  };
  HttpServer server;
  RemoteWriteClient client(TargetAt(server));
  for (const auto& test : kCases) {
    server.Answer({.status = test.status, .body = "out of \x1B[2J order\n"});
    EXPECT_THAT(
        client.Send("x"),
        StatusIs(test.code, AllOf(HasSubstr(absl::StrCat(
                                      server.url(), " answers with status ",
                                      test.status, ": out of ?[2J order")),
                                  HasSubstr(test.advice))));
    EXPECT_OK(client.Send("x"));
  }
}

// As VictoriaMetrics 1.79 answers.
TEST_F(RemoteWriteClientTest, KnowsAWrongPathOfVictoriaMetrics) {
  HttpServer server;
  RemoteWriteClient client(TargetAt(server));
  server.Answer({.status = 400,
                 .body = "remoteAddr: \"127.0.0.1:60236\"; requestURI: "
                         "/api/v1/nowhere; unsupported path requested: "
                         "\"/api/v1/nowhere\"\n"});
  EXPECT_THAT(client.Send("x"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("check url")));
}

// As Prometheus 2.42 answers, if out_of_order_time_window is set.
TEST_F(RemoteWriteClientTest, KnowsSamplesThatAreTooOldForPrometheus) {
  HttpServer server;
  RemoteWriteClient client(TargetAt(server));
  server.Answer({.status = 500, .body = "too old sample\n"});
  EXPECT_THAT(client.Send("x"), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("too old sample")));
}

TEST_F(RemoteWriteClientTest, KeepsRetryAfterUntilTheNextRequest) {
  HttpServer server;
  RemoteWriteClient client(TargetAt(server));
  server.Answer({.status = 429, .headers = {"Retry-After: 7"}});
  server.Answer({.status = 503});
  server.Answer({.status = 503, .headers = {"Retry-After: 99999999"}});
  EXPECT_FALSE(client.Send("x").ok());
  EXPECT_THAT(client.retry_after(), Optional(Eq(absl::Seconds(7))));
  EXPECT_FALSE(client.Send("x").ok());
  EXPECT_EQ(client.retry_after(), std::nullopt);
  EXPECT_FALSE(client.Send("x").ok());
  EXPECT_THAT(client.retry_after(), Optional(Eq(absl::Hours(1))));
}

TEST_F(RemoteWriteClientTest, QuotesAtMostTheStartOfAnAnswer) {
  HttpServer server;
  RemoteWriteClient client(TargetAt(server));
  server.Answer({.status = 400, .body = std::string(10 << 20, 'x')});
  EXPECT_THAT(client.Send("x"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(std::string(500, 'x')),
                             Not(HasSubstr(std::string(501, 'x'))))));
  EXPECT_OK(client.Send("x"));
}

TEST_F(RemoteWriteClientTest, FollowsNoRedirect) {
  HttpServer other;
  HttpServer server;
  RemoteWriteClient client(TargetAt(server));
  server.Answer({.status = 307, .headers = {"Location: " + other.url()}});
  EXPECT_THAT(client.Send("x"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("redirect")));
  EXPECT_TRUE(other.requests().empty());
}

TEST_F(RemoteWriteClientTest, ConnectsAgainAfterABrokenConnection) {
  HttpServer server;
  RemoteWriteClient client(TargetAt(server));
  server.Answer({.status = 200, .body = "x", .kind = HttpAnswer::kPartial});
  EXPECT_THAT(client.Send("x"),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot send samples to " + server.url())));
  EXPECT_OK(client.Send("y"));
  EXPECT_EQ(server.requests().back().body, "y");
}

TEST_F(RemoteWriteClientTest, SaysThatNothingListens) {
  std::string url;
  {
    HttpServer server;
    url = server.url();
  }
  RemoteWriteClient client({.url = url + "?token=secret"});
  EXPECT_THAT(client.Send("x"),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("check url"), HasSubstr(url),
                             Not(HasSubstr("secret")))));
}

TEST_F(RemoteWriteClientTest, GivesUpAfterTheTimeout) {
  HttpServer server;
  server.Answer({.kind = HttpAnswer::kNone});
  RemoteWriteClient client(
      {.url = server.url(), .timeout = absl::Milliseconds(50)});
  EXPECT_THAT(client.Send("x"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("timeout")));
}

TEST_F(RemoteWriteClientTest, CancelEndsARequestInProgress) {
  HttpServer server;
  server.Answer({.kind = HttpAnswer::kNone});
  RemoteWriteClient client({.url = server.url(), .timeout = absl::Minutes(10)});
  auto sent = std::async(std::launch::async, [&] { return client.Send("x"); });
  EXPECT_TRUE(server.AwaitRequests(1));
  client.Cancel();
  EXPECT_THAT(sent.get(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(client.Send("y"),
              StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(RemoteWriteClientTest, SendsUserAndPassword) {
  HttpServer server;
  EngineTarget target = TargetAt(server);
  target.user = "Aladdin";
  target.password_file = WriteSecret("password", "open sesame\n");
  RemoteWriteClient client(target);
  EXPECT_OK(client.Send("x"));
  // The example of RFC 7617.
  EXPECT_EQ(server.requests()[0].headers["authorization"],
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST_F(RemoteWriteClientTest, SendsTheTokenThatTheFileHas) {
  HttpServer server;
  EngineTarget target = TargetAt(server);
  target.bearer_token_file = WriteSecret("token", "first");
  RemoteWriteClient client(target);
  EXPECT_OK(client.Send("x"));
  WriteSecret("token", "second\n");
  EXPECT_OK(client.Send("x"));
  WriteSecret("token", "third\nX-Injected: 1");
  EXPECT_THAT(client.Send("x"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr("several lines")));
  ASSERT_OK(RemoveFile(target.bearer_token_file));
  EXPECT_THAT(client.Send("x"), StatusIs(absl::StatusCode::kFailedPrecondition,
                                         HasSubstr(target.bearer_token_file)));
  auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].headers["authorization"], "Bearer first");
  EXPECT_EQ(requests[1].headers["authorization"], "Bearer second");
}

TEST_F(RemoteWriteClientTest, AuthenticatesBothSidesWithTls) {
  const absl::Time not_after = absl::Now() + absl::Hours(1);
  ASSERT_OK_AND_ASSIGN(const KeyPair authority,
                       MakeAuthority("test", not_after));
  ASSERT_OK_AND_ASSIGN(const KeyPair other, MakeAuthority("other", not_after));
  ASSERT_OK_AND_ASSIGN(const KeyPair engine,
                       IssueCertificate(authority, {.role = Role::kAggregator,
                                                    .names = {"127.0.0.1"},
                                                    .not_after = not_after}));
  ASSERT_OK_AND_ASSIGN(const KeyPair own,
                       IssueCertificate(authority, {.role = Role::kReader,
                                                    .names = {"export"},
                                                    .not_after = not_after}));
  HttpServer server(engine.certificate, engine.key, authority.certificate);
  EngineTarget target = TargetAt(server);
  target.authority = WriteSecret("authority.pem", other.certificate);
  target.certificate = WriteSecret("own.pem", own.certificate);
  target.key = WriteSecret("own.key", own.key);
  RemoteWriteClient client(target);
  EXPECT_THAT(client.Send("x"),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("let tls.authority name the authority")));
  WriteSecret("authority.pem", authority.certificate);
  EXPECT_OK(client.Send("x"));
  EXPECT_OK(client.Send("x"));
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].connection, requests[1].connection);
  target.certificate = target.key = "";
  RemoteWriteClient anonymous(target);
  EXPECT_THAT(anonymous.Send("x"),
              StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
  EXPECT_EQ(server.requests().size(), 2u);
}

// The files are replaced after the configuration was checked.
TEST_F(RemoteWriteClientTest, RefusesSpecialFilesOfTls) {
  const absl::Time not_after = absl::Now() + absl::Hours(1);
  ASSERT_OK_AND_ASSIGN(const KeyPair pair, MakeAuthority("test", not_after));
  HttpServer server(pair.certificate, pair.key, pair.certificate);
  EngineTarget target = TargetAt(server);
  target.authority = WriteSecret("authority.pem", pair.certificate);
  target.certificate = WriteSecret("own.pem", pair.certificate);
  target.key = WriteSecret("own.key", pair.key);
  ASSERT_EQ(mkfifo(directory_.File("fifo").c_str(), 0600), 0);
  for (std::string EngineTarget::*file :
       {&EngineTarget::authority, &EngineTarget::certificate,
        &EngineTarget::key}) {
    // In this order, because curl fails with the first one, but hangs or fills
    // the memory with the others.
    for (const std::string& special :
         {std::string("/dev/null"), directory_.File("fifo"),
          std::string("/dev/zero")}) {
      EngineTarget changed = target;
      changed.*file = special;
      RemoteWriteClient client(changed);
      ASSERT_THAT(client.Send("x"),
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           AllOf(HasSubstr(special),
                                 HasSubstr("name a regular file"))));
    }
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
