// The answers by identity and path. A request has passed the reader of
// requests.

#include "aggregator/web/router.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/web/http_response.h"
#include "base/server/client_certificates.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class FakeApi : public ApiHandler {
 public:
  bool Has(absl::string_view method) const override {
    return method == "query";
  }
  void Answer(HttpRequest request, absl::string_view, const Identity& identity,
              std::shared_ptr<Reply> reply) override {
    reply->Send(FullResponse(
        {}, absl::StrCat(identity.subject, " asked ", request.body)));
    reply->Finish(true);
  }
};

class RouterTest : public ::testing::Test {
 protected:
  static CertificateInfo Certificate(Role role) {
    return {.subject = "alice",
            .names = {"alice"},
            .role = role,
            .not_after = absl::FromUnixSeconds(4e9),
            .fingerprint = std::string(64, 'a')};
  }

  // Returns the answer to a request of `host_` with these headers and body.
  std::string Answer(const std::string& line, const std::string& headers = "",
                     const std::string& body = "",
                     std::optional<Identity> certificate = std::nullopt) {
    RequestReader reader;
    EXPECT_EQ(reader.Add(absl::StrCat(
                  line, " HTTP/1.1\r\nHost: ", host_, "\r\n", headers,
                  "Content-Length: ", body.size(), "\r\n\r\n", body)),
              RequestReader::State::kDone);
    auto reply = std::make_shared<Reply>([] {});
    const auto identity =
        router_.Admit(reader.request(), certificate, reply.get());
    if (reply->waiting_bytes() == 0) {
      router_.Answer(reader.Take(), identity, reply);
    }
    std::string answer;
    while (const Reply::Bytes bytes = reply->Take()) answer += *bytes;
    EXPECT_TRUE(reply->finished().has_value());
    return answer;
  }

  std::string Post(const std::string& path, const std::string& headers,
                   std::optional<Identity> certificate = std::nullopt) {
    return Answer("POST " + path, headers, "{}", std::move(certificate));
  }

  // Returns the cookie that an answer sets.
  static std::string CookieOf(const std::string& answer) {
    const std::string name = "Set-Cookie: ";
    const size_t begin = answer.find(name) + name.size();
    return answer.substr(begin, answer.find(';', begin) - begin);
  }

  // Logs in. Returns the header with the cookie.
  std::string LogIn() {
    const auto token =
        logins_.MakeToken(*IdentityOf(Certificate(Role::kReader)));
    EXPECT_OK(token);
    const std::string answer = Answer("GET /login?token=" + *token);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    return absl::StrCat("Cookie: ", CookieOf(answer), "\r\n");
  }

  static constexpr char kJsonBody[] = "Content-Type: application/json\r\n";
  std::string host_ = "a";
  testing::SimulatedClock clock_;
  ClientCertificates clients_{&clock_};
  Logins logins_{&clients_, &clock_};
  FakeApi api_;
  const Assets assets_ = Assets::OfExecutable();  // those of dist
  Router router_{&assets_, &logins_, &api_};
};

TEST_F(RouterTest, RefusesStrangers) {
  EXPECT_THAT(Answer("GET /"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Answer("GET /"), HasSubstr("fleetperf web login"));
  EXPECT_THAT(Answer("GET /assets/app-1a2b3c4d.js"),
              StartsWith("HTTP/1.1 401"));
  const std::string answer = Post("/api/v1/query", kJsonBody);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(answer, HasSubstr("{\"error\":{\"code\":\"UNAUTHENTICATED\""));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(Post("/api/v1/none", kJsonBody), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Answer("GET /login?token=guess"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Answer("GET /healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(router_.requests(), 7);
  EXPECT_EQ(router_.denied(), 6);
}

TEST_F(RouterTest, AdmitsCertificatesOfReadersAndOperators) {
  for (const Role role : {Role::kReader, Role::kOperator}) {
    EXPECT_THAT(Post("/api/v1/query", kJsonBody, IdentityOf(Certificate(role))),
                HasSubstr("alice asked {}"));
  }
  EXPECT_EQ(IdentityOf(Certificate(Role::kAgent)), std::nullopt);
  EXPECT_EQ(IdentityOf(Certificate(Role::kAggregator)), std::nullopt);
}

TEST_F(RouterTest, LinkBeginsOneSession) {
  const auto token = logins_.MakeToken(*IdentityOf(Certificate(Role::kReader)));
  ASSERT_OK(token);
  const std::string link = "/login?token=" + *token;
  // A look is no use.
  EXPECT_THAT(Answer("HEAD " + link), StartsWith("HTTP/1.1 403"));
  const std::string answer = Answer("GET " + link);
  // A redirection from another site would come without the strict cookie.
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("Refresh: 0; url=/\r\n"));
  EXPECT_THAT(answer, HasSubstr("<a href=\"/\">"));
  EXPECT_THAT(answer,
              HasSubstr("; HttpOnly; Secure; SameSite=Strict; Path=/;"));
  EXPECT_THAT(answer, Not(HasSubstr(*token)));
  EXPECT_THAT(Answer("GET " + link), StartsWith("HTTP/1.1 403"));
}

TEST_F(RouterTest, SessionIsAnIdentity) {
  const std::string cookie = LogIn();
  EXPECT_THAT(Answer("GET /", cookie), HasSubstr("<title>fleetperf</title>"));
  EXPECT_THAT(Post("/api/v1/query", cookie + kJsonBody),
              HasSubstr("alice asked {}"));
}

// Browsers send the cookies of all ports of a host.
TEST_F(RouterTest, CookieIsNamedAfterThePort) {
  EXPECT_THAT(LogIn(), StartsWith("Cookie: __Host-fleetperf_443_session="));
  host_ = "[::1]";
  EXPECT_THAT(LogIn(), StartsWith("Cookie: __Host-fleetperf_443_session="));
  host_ = "[::1]:7446";
  EXPECT_THAT(LogIn(), StartsWith("Cookie: __Host-fleetperf_7446_session="));
  host_ = "a:7445";
  const std::string cookie = LogIn();
  EXPECT_THAT(cookie, StartsWith("Cookie: __Host-fleetperf_7445_session="));
  EXPECT_THAT(Answer("GET /", cookie), StartsWith("HTTP/1.1 200"));
}

TEST_F(RouterTest, LinksAndSessionsExpire) {
  const auto token = logins_.MakeToken(*IdentityOf(Certificate(Role::kReader)));
  ASSERT_OK(token);
  clock_.Advance(absl::Minutes(5));
  EXPECT_THAT(Answer("GET /login?token=" + *token), StartsWith("HTTP/1.1 403"));
  const std::string cookie = LogIn();
  clock_.Advance(absl::Hours(12) - absl::Seconds(1));
  EXPECT_THAT(Answer("GET /", cookie), StartsWith("HTTP/1.1 200"));
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Answer("GET /", cookie), StartsWith("HTTP/1.1 401"));
}

TEST_F(RouterTest, RevocationEndsLinksAndSessions) {
  const auto token = logins_.MakeToken(*IdentityOf(Certificate(Role::kReader)));
  ASSERT_OK(token);
  const std::string cookie = LogIn();
  clients_.SetRevoked({{.fingerprint = std::string(64, 'a')}});
  EXPECT_THAT(Answer("GET /login?token=" + *token), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Answer("GET /", cookie), StartsWith("HTTP/1.1 401"));
}

TEST_F(RouterTest, BoundsSessionsOfACertificate) {
  const std::string first = LogIn();
  clock_.Advance(absl::Seconds(1));
  std::string last;
  for (size_t i = 0; i < Logins::kMaxSessions; ++i) last = LogIn();
  EXPECT_THAT(Answer("GET /", first), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(Answer("GET /", last), StartsWith("HTTP/1.1 200"));
}

// The requests that a form or a script of another page can send.
TEST_F(RouterTest, RefusesRequestsOfOtherPages) {
  const std::string cookie = LogIn();
  for (const std::string site : {"cross-site", "same-site", "none"}) {
    EXPECT_THAT(
        Post("/api/v1/query",
             absl::StrCat(cookie, kJsonBody, "Sec-Fetch-Site: ", site, "\r\n")),
        StartsWith("HTTP/1.1 403"))
        << site;
  }
  EXPECT_THAT(Post("/api/v1/query",
                   cookie + kJsonBody + "Sec-Fetch-Site: same-origin\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Post("/api/v1/query", cookie), StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(Post("/api/v1/query", cookie + "Content-Type: text/plain\r\n"),
              StartsWith("HTTP/1.1 415"));
  EXPECT_THAT(Answer("GET /api/v1/query", cookie), StartsWith("HTTP/1.1 405"));
}

TEST_F(RouterTest, ReadersAndOperatorsMayScrape) {
  EXPECT_THAT(Answer("GET /metrics"), StartsWith("HTTP/1.1 401"));
  const auto scrape = [&](const std::string& method,
                          const std::string& headers) {
    return Answer(method + " /metrics?path=x", headers, "",
                  IdentityOf(Certificate(Role::kReader)));
  };
  EXPECT_THAT(scrape("GET", ""), HasSubstr("alice asked"));
  EXPECT_THAT(Answer("GET /metrics", LogIn()), HasSubstr("alice asked"));
  EXPECT_THAT(scrape("HEAD", ""), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(scrape("POST", ""), StartsWith("HTTP/1.1 405"));
  // Another page could only make work.
  EXPECT_THAT(scrape("GET", "Sec-Fetch-Site: cross-site\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(scrape("GET", "Sec-Fetch-Site: none\r\n"),
              StartsWith("HTTP/1.1 200"));
}

TEST_F(RouterTest, KnowsMethodsAndPaths) {
  const std::string cookie = LogIn();
  EXPECT_THAT(Post("/", cookie + kJsonBody), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Answer("DELETE /", cookie), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(Post("/api/v1/none", cookie + kJsonBody),
              StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Answer("GET /../index.html", cookie), StartsWith("HTTP/1.1 404"));
}

TEST_F(RouterTest, SendsFilesOnce) {
  const std::string cookie = LogIn();
  const std::string path = "GET /assets/app-1a2b3c4d.js";
  const std::string plain = Answer(path, cookie);
  EXPECT_THAT(plain, HasSubstr("document.title = \"fleetperf\";"));
  EXPECT_THAT(plain, HasSubstr("Content-Type: text/javascript"));
  EXPECT_THAT(plain, HasSubstr("immutable"));
  EXPECT_THAT(Answer("GET /", cookie),
              HasSubstr("Cache-Control: no-cache\r\n"));
  const std::string packed =
      Answer(path, cookie + "Accept-Encoding: br, gzip;q=0.5\r\n");
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(packed, HasSubstr("\r\n\r\n\x1f\x8b"));
  const size_t tag = plain.find("ETag: ") + 6;
  const std::string etag = plain.substr(tag, plain.find("\r\n", tag) - tag);
  const std::string known = Answer(
      path, absl::StrCat(cookie, "If-None-Match: W/\"x\", ", etag, "\r\n"));
  EXPECT_THAT(known, StartsWith("HTTP/1.1 304"));
  EXPECT_THAT(known, Not(HasSubstr("document")));
  // Sources are not part of the page.
  EXPECT_THAT(Answer("GET /assets/app-1a2b3c4d.js.map", cookie),
              StartsWith("HTTP/1.1 404"));
}

TEST_F(RouterTest, AllAnswersAreStrict) {
  for (const std::string& answer :
       {Answer("GET /"), Answer("GET /", LogIn()), Answer("GET /healthz"),
        Post("/api/v1/query", kJsonBody)}) {
    EXPECT_THAT(answer,
                HasSubstr("Content-Security-Policy: default-src 'none'; "
                          "script-src 'self'; style-src 'self'; "
                          "img-src 'self' data: blob:; connect-src 'self'; "
                          "font-src 'self'; base-uri 'none'; "
                          "form-action 'none'; frame-ancestors 'none'\r\n"));
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    EXPECT_THAT(answer, HasSubstr("Referrer-Policy: no-referrer\r\n"));
  }
  EXPECT_THAT(Post("/api/v1/query", kJsonBody),
              HasSubstr("Cache-Control: no-store\r\n"));
}

TEST(Router, ExplainsThatThePageIsMissing) {
  testing::SimulatedClock clock;
  ClientCertificates clients(&clock);
  Logins logins(&clients, &clock);
  FakeApi api;
  const Assets none({});
  Router router(&none, &logins, &api);
  auto reply = std::make_shared<Reply>([] {});
  RequestReader reader;
  reader.Add("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  router.Answer(reader.Take(), Identity(), reply);
  const std::string answer = *reply->Take();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(answer, HasSubstr("built without its page"));
}

}  // namespace
}  // namespace fleetperf::aggregator::web
