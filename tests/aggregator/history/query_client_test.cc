#include "aggregator/history/query_client.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/http_server.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::HttpAnswer;
using testing::HttpServer;
using testing::IsOkAndHolds;
using testing::StatusIs;

const absl::Time kTime = absl::FromUnixMillis(1'800'000'000'050);

TEST(QueryClientTest, PostsTheQueryAsAForm) {
  HttpServer server;
  QueryClient client({.url = server.url()});
  server.Answer({.status = 200, .body = "{}"});
  EXPECT_THAT(client.Query("{a=~\"\\\\ ö|&\"}[1ms]", kTime, nullptr),
              IsOkAndHolds("{}"));
  server.Answer({.status = 200, .body = "[]"});
  EXPECT_THAT(client.Query("b", kTime, nullptr), IsOkAndHolds("[]"));
  auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].line, "POST /write HTTP/1.1");
  EXPECT_EQ(requests[0].headers["content-type"],
            "application/x-www-form-urlencoded");
  EXPECT_EQ(requests[0].body,
            "query=%7Ba%3D%7E%22%5C%5C%20%C3%B6%7C%26%22%7D%5B1ms%5D"
            "&time=1800000000.050");
  EXPECT_EQ(requests[1].connection, 1);
}

TEST(QueryClientTest, TellsTheNextStep) {
  const struct {
    int status;
    absl::StatusCode code;
    const char* advice;
  } kCases[] = {
      {400, absl::StatusCode::kUnavailable, ""},
      {401, absl::StatusCode::kFailedPrecondition, "bearer_token_file"},
      {403, absl::StatusCode::kFailedPrecondition, "right to read"},
      {404, absl::StatusCode::kFailedPrecondition, "check history.url"},
      {422, absl::StatusCode::kResourceExhausted, ""},
      {503, absl::StatusCode::kUnavailable, ""},
  };
  HttpServer server;
  QueryClient client({.url = server.url()});
  for (const auto& test : kCases) {
    server.Answer({.status = test.status, .body = "because"});
    EXPECT_THAT(
        client.Query("a", kTime, nullptr),
        StatusIs(test.code, AllOf(HasSubstr(absl::StrCat(
                                      server.url(), " answers with status ",
                                      test.status, ": because")),
                                  HasSubstr(test.advice))));
  }
  server.Answer({.status = 200, .body = std::string((32 << 20) + 1, ' ')});
  EXPECT_THAT(client.Query("a", kTime, nullptr),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("more than 32 MiB")));
}

// The caller's own rights and paths are right.
TEST(QueryClientTest, ALostTokenIsNoErrorOfTheCaller) {
  HttpServer server;
  QueryClient client({.url = server.url(), .bearer_token_file = "/nowhere"});
  EXPECT_THAT(
      client.Query("a", kTime, nullptr),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/nowhere")));
}

TEST(QueryClientTest, AnErrorOfTheCallerEndsTheTransfer) {
  HttpServer server;
  server.Answer({.kind = HttpAnswer::kNone});
  QueryClient client({.url = server.url(), .timeout = absl::Minutes(10)});
  EXPECT_THAT(client.Query("a", kTime,
                           [&] {
                             return server.requests().empty()
                                        ? absl::OkStatus()
                                        : absl::CancelledError("gone");
                           }),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("gone")));
  server.Answer({.status = 200, .body = "{}"});
  EXPECT_THAT(client.Query("b", kTime, nullptr), IsOkAndHolds("{}"));
}

}  // namespace
}  // namespace fleetperf::aggregator
