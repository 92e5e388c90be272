// The page's server, as a browser uses it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"
#include "tests/e2e/https_client.h"

namespace fleetperf::testing {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kWeb[] =
    "  revoked: revoked\nweb: {listen: '127.0.0.1:0', address_file: page}\n";
constexpr char kJsonBody[] = "Content-Type: application/json\r\n";
class WebTest : public ::testing::Test {
 protected:
  WebTest() : aggregator_(deployment_.StartAggregator(kWeb)) {
    const auto address = ReadFile(deployment_.File("page"));
    EXPECT_TRUE(address.ok());
    EXPECT_TRUE(absl::SimpleAtoi(
        absl::StripSuffix(absl::StripPrefix(*address, "127.0.0.1:"), "\n"),
        &port_));
  }

  // Returns a connection without a certificate.
  std::unique_ptr<HttpsClient> Browser() const {
    return std::make_unique<HttpsClient>(
        port_, TlsFiles{.authority = deployment_.File("authority.pem")});
  }

  // Returns the path of a new login link.
  std::string LoginPath() const {
    const Result login = deployment_.Fleetperf({"web", "login"});
    EXPECT_EQ(login.status, 0) << login.error;
    const std::string origin = absl::StrCat("https://127.0.0.1:", port_);
    EXPECT_THAT(login.output, StartsWith(origin + "/login?token="));
    return std::string(
        absl::StripSuffix(absl::StripPrefix(login.output, origin), "\n"));
  }

  // Logs in. Returns the headers of a request.
  std::string LogIn() const {
    const std::string answer = Browser()->Ask("GET", LoginPath());
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    const size_t at = answer.find("__Host-fleetperf_");
    return absl::StrCat(
        "Cookie: ", answer.substr(at, answer.find(';', at) - at), "\r\n",
        kJsonBody);
  }

  // Returns the lines of an answer.
  static std::vector<json> LinesOf(const std::string& answer) {
    std::vector<json> lines;
    const absl::string_view body =
        absl::string_view(answer).substr(answer.find("\r\n\r\n") + 4);
    for (const absl::string_view line :
         absl::StrSplit(body, '\n', absl::SkipEmpty())) {
      lines.push_back(json::parse(line.begin(), line.end()));
    }
    return lines;
  }

  // Reads lines until one has points.
  static std::optional<json> ReadPoints(HttpsClient& browser) {
    while (const auto line = browser.ReadLine()) {
      const json parsed = json::parse(*line);
      if (parsed.contains("points")) return parsed;
    }
    return std::nullopt;
  }

  Deployment deployment_;
  const std::unique_ptr<Process> aggregator_;
  int port_ = 0;
};

TEST_F(WebTest, AnswersTheHolderOfALink) {
  const auto agent = deployment_.StartAgent("web-1");
  deployment_.WaitForSamples("web-1");
  EXPECT_THAT(Browser()->Ask("GET", "/"), StartsWith("HTTP/1.1 401"));
  const std::string headers = LogIn();
  const auto browser = Browser();
  // The test does not depend on whether the build has the page.
  EXPECT_THAT(browser->Ask("GET", "/", headers),
              AnyOf(StartsWith("HTTP/1.1 200"), HasSubstr("without its page")));

  const std::string machines = browser->Ask("POST", "/api/v1/machines", headers,
                                            R"({"machine":"web-1"})");
  EXPECT_THAT(machines, StartsWith("HTTP/1.1 200"));
  ASSERT_THAT(LinesOf(machines), SizeIs(1));
  EXPECT_EQ(LinesOf(machines)[0]["machines"][0]["name"], "web-1");

  const std::vector<json> parts = LinesOf(browser->Ask(
      "POST", "/api/v1/query", headers,
      R"({"paths":["\\\\web-1\\System\\Processes"],"since":"3600s"})"));
  ASSERT_THAT(parts, SizeIs(3));
  EXPECT_EQ(parts[0]["series"]["path"], "\\System\\Processes");
  EXPECT_EQ(parts[1]["points"]["series"], parts[0]["series"]["id"]);
  EXPECT_THAT(parts[1]["points"]["t"], SizeIs(1));
  EXPECT_GT(parts[1]["points"]["v"][0], 0);
  EXPECT_EQ(parts[2], json::parse(R"({"end":true})"));

  const std::string explained =
      browser->Ask("POST", "/api/v1/explain", headers,
                   R"({"path":"\\\\web-1\\System\\Processes"})");
  EXPECT_THAT(explained, HasSubstr("\"formula\""));
  const std::vector<json> found = LinesOf(browser->Ask(
      "POST", "/api/v1/find", headers, R"({"words":"memory used"})"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0]["found"][0]["path"], "\\Memory\\Used Bytes");
  EXPECT_THAT(browser->Ask("POST", "/api/v1/query", headers,
                           R"({"paths":["\\No\\Such"],"since":"1s"})"),
              StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(browser->Ask("POST", "/api/v1/query", headers, R"({"x":1})"),
              StartsWith("HTTP/1.1 400"));
}

TEST_F(WebTest, StreamsTheSameToAllUntilTheCertificateIsRevoked) {
  const auto agent = deployment_.StartAgent("web-1");
  deployment_.WaitForSamples("web-1");
  const std::string request =
      R"({"paths":["\\\\web-1\\System\\Processes"],"interval":"1s"})";
  const auto first = Browser();
  const std::string headers = LogIn();
  first->Send("POST", "/api/v1/subscribe", headers, request);
  EXPECT_THAT(first->ReadHead(), StartsWith("HTTP/1.1 200"));
  // The first message has the series; its newest value may be in a later one.
  const auto begin = first->ReadLine();
  ASSERT_TRUE(begin.has_value());
  EXPECT_TRUE(json::parse(*begin).contains("machines"));
  ASSERT_TRUE(ReadPoints(*first).has_value());

  const auto second = Browser();
  second->Send("POST", "/api/v1/subscribe", headers, request);
  EXPECT_THAT(second->ReadHead(), StartsWith("HTTP/1.1 200"));
  const auto snapshot = second->ReadLine();
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(json::parse(*snapshot)["series"][0]["machine"], "web-1");
  EXPECT_THAT(json::parse(*snapshot)["points"], SizeIs(1));
  // From then on, both get the same.
  const auto next = ReadPoints(*second);
  ASSERT_TRUE(next.has_value());
  std::optional<json> same;
  do {
    same = ReadPoints(*first);
  } while (same.has_value() && *same != *next);
  EXPECT_EQ(same, next);

  const auto unknown = Browser();
  EXPECT_THAT(unknown->Ask("POST", "/api/v1/subscribe", headers,
                           R"({"paths":["\\No\\Such"]})"),
              StartsWith("HTTP/1.1 404"));

  const Result revoked =
      deployment_.Fleetperf({"pki", "revoke", "reader", "tester", "--directory",
                             deployment_.directory()});
  ASSERT_EQ(revoked.status, 0) << revoked.error;
  while (first->ReadLine().has_value()) continue;
  while (second->ReadLine().has_value()) continue;
  const auto later = Browser();
  EXPECT_THAT(later->Ask("POST", "/api/v1/machines", headers, "{}"),
              StartsWith("HTTP/1.1 401"));
}

TEST_F(WebTest, BoundsDifferentStreamsOfACertificate) {
  const auto agent = deployment_.StartAgent("web-1");
  deployment_.WaitForSamples("web-1");
  const std::string headers = LogIn();
  const auto subscribe = [&](HttpsClient& browser, int seconds) {
    browser.Send("POST", "/api/v1/subscribe", headers,
                 absl::StrCat(R"({"paths":["\\\\web-1\\System\\Processes"],)"
                              R"("interval":")",
                              seconds, R"(s"})"));
    return browser.ReadHead();
  };
  std::vector<std::unique_ptr<HttpsClient>> browsers;
  for (int i = 1; i <= 32; ++i) {
    browsers.push_back(Browser());
    EXPECT_THAT(subscribe(*browsers.back(), i), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_THAT(subscribe(*Browser(), 33), StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(subscribe(*Browser(), 1), StartsWith("HTTP/1.1 200"));  // shared
}

TEST_F(WebTest, AcceptsCertificates) {
  const TlsFiles alice = deployment_.Issue("reader", {"alice"});
  HttpsClient reader(port_, alice);
  EXPECT_THAT(reader.Ask("POST", "/api/v1/machines", kJsonBody, "{}"),
              StartsWith("HTTP/1.1 200"));
  HttpsClient agent(port_, deployment_.Issue("agent", {"web-1"}));
  EXPECT_THAT(agent.Ask("POST", "/api/v1/machines", kJsonBody, "{}"),
              StartsWith("HTTP/1.1 401"));
  // A certificate of another authority ends the handshake.
  Deployment other;
  TlsFiles stranger = other.Issue("reader", {"alice"});
  stranger.authority = alice.authority;
  HttpsClient refused(port_, stranger);
  EXPECT_EQ(refused.Ask("GET", "/healthz"), "");
  EXPECT_TRUE(aggregator_->WaitForError("the TLS handshake of 127.0.0.1"));
}

TEST(Web, IsOffUnlessConfigured) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator();
  const Result login = deployment.Fleetperf({"web", "login"});
  EXPECT_EQ(login.status, 1);
  EXPECT_THAT(login.error, HasSubstr("set web.listen"));
}

}  // namespace
}  // namespace fleetperf::testing
