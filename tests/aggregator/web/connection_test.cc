// Connections of clients that are slow, strange or greedy. Time is an argument.

#include "aggregator/web/connection.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/aggregator/web/tls_client.h"
#include "tests/support/simulated_clock.h"

namespace fleetperf::aggregator::web {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Keeps the answers open.
class OpenApi : public ApiHandler {
 public:
  bool Has(absl::string_view) const override { return true; }
  void Answer(HttpRequest, absl::string_view, const Identity&,
              std::shared_ptr<Reply> reply) override {
    replies.push_back(std::move(reply));
  }

  std::vector<std::shared_ptr<Reply>> replies;
};

class ConnectionTest : public ::testing::Test {
 protected:
  // Both ends of a connection, whose handshake is done at 0 s.
  struct Pair {
    TlsClient client;
    std::unique_ptr<Connection> server;

    bool Send(absl::string_view bytes, absl::Duration now) {
      return client.Send(bytes) && server->Advance(now);
    }
  };

  std::unique_ptr<Pair> Connect() {
    auto pair = std::make_unique<Pair>();
    OwnedFd fd = pair->client.TakeServersEnd();
    SSL* const ssl = tls_.server().Accept(fd.get());
    pair->server = std::make_unique<Connection>(
        std::move(fd), Peer(), ssl, &router_, &clients_, &quota_, [] {},
        absl::ZeroDuration());
    EXPECT_FALSE(pair->client.Handshake());
    EXPECT_TRUE(pair->server->Advance(absl::ZeroDuration()));
    EXPECT_TRUE(pair->client.Handshake());
    EXPECT_TRUE(pair->server->Advance(absl::ZeroDuration()));
    return pair;
  }

  // The head of a request with a session.
  std::string Head(const std::string& method, int body_bytes) {
    return absl::StrCat("POST /api/v1/", method,
                        " HTTP/1.1\r\nHost: a\r\n"
                        "Content-Type: application/json\r\nCookie: ",
                        cookie_, "\r\nContent-Length: ", body_bytes,
                        "\r\n\r\n");
  }

  std::string LogIn() {
    const auto token = logins_.MakeToken({.key = "alice",
                                          .subject = "alice",
                                          .fingerprint = std::string(64, 'a'),
                                          .not_after = absl::InfiniteFuture()});
    const auto pair = Connect();
    pair->Send(absl::StrCat("GET /login?token=", *token,
                            " HTTP/1.1\r\nHost: a\r\n\r\n"),
               absl::ZeroDuration());
    const std::string answer = pair->client.Read();
    const size_t begin = answer.find("Set-Cookie: ") + 12;
    return answer.substr(begin, answer.find(';', begin) - begin);
  }

  testing::SimulatedClock clock_;
  CallerQuota quota_{&clock_};
  ClientCertificates clients_{&clock_, &quota_};
  Logins logins_{&clients_, &clock_};
  OpenApi api_;
  const Assets assets_ = Assets::OfExecutable();
  Router router_{&assets_, &logins_, &api_};
  TlsFixture tls_;
  const std::string cookie_ = LogIn();
};

TEST_F(ConnectionTest, StrangersHaveTheTimeOfAHandshake) {
  const auto slow = Connect();
  ASSERT_TRUE(slow->Send("GET / HT", absl::Seconds(9)));
  EXPECT_TRUE(slow->server->MayGoOn(absl::Milliseconds(9999)));
  EXPECT_FALSE(slow->server->MayGoOn(absl::Seconds(10)));
  const auto asking = Connect();
  asking->Send("GET / HTTP/1.1\r\nHost: a\r\n\r\n", absl::Seconds(1));
  const std::string answer = asking->client.Read();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  // The time of a request begins with its first byte, as soon as its head
  // shows who sends it.
  const auto known = Connect();
  ASSERT_TRUE(known->Send(Head("query", 2), absl::Seconds(9)));
  EXPECT_TRUE(known->server->is_identified());
  EXPECT_TRUE(known->server->MayGoOn(absl::Seconds(28)));
  EXPECT_FALSE(known->server->MayGoOn(absl::Seconds(29)));
}

// Requests whose bodies do not arrive.
TEST_F(ConnectionTest, BoundsRequestsOfACertificate) {
  const auto begin = [&](Pair& pair, const std::string& method) {
    pair.Send(Head(method, 2), absl::ZeroDuration());
    return pair.client.Read();
  };
  std::vector<std::unique_ptr<Pair>> pairs;
  for (int i = 0; i < 64; ++i) {
    pairs.push_back(Connect());
    EXPECT_EQ(begin(*pairs.back(), "query"), "");
  }
  EXPECT_THAT(begin(*Connect(), "query"), StartsWith("HTTP/1.1 429"));
  const auto stream = Connect();
  EXPECT_EQ(begin(*stream, "subscribe"), "");
  pairs.pop_back();
  const auto next = Connect();
  EXPECT_EQ(begin(*next, "query"), "");
}

// Clients with a session, which have no certificate of their own.
TEST_F(ConnectionTest, BoundsConnectionsOfSessions) {
  quota_.SetLimits(Pool::kPageConnections, 2);
  const auto ask = [&](Pair& pair) {
    pair.Send(Head("query", 2), absl::ZeroDuration());
    return pair.client.Read();
  };
  auto first = Connect();
  const auto second = Connect();
  EXPECT_EQ(ask(*first), "");
  EXPECT_EQ(ask(*second), "");
  const std::string refused = ask(*Connect());
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 429"));
  EXPECT_THAT(refused, HasSubstr("has 2 connections, the limit"));
  first = nullptr;
  EXPECT_EQ(ask(*Connect()), "");
}

// The client reads too little for the answer to end, and too much to stall.
TEST_F(ConnectionTest, BoundsWaitsOfAnAnswer) {
  const auto slow = Connect();
  const auto viewer = Connect();
  slow->Send(Head("query", 0), absl::ZeroDuration());
  viewer->Send(Head("subscribe", 0), absl::ZeroDuration());
  for (const auto& reply : api_.replies) reply->Send(std::string(8 << 20, 'x'));
  for (int seconds = 0; seconds <= 100; seconds += 20) {
    for (Pair* const pair : {slow.get(), viewer.get()}) {
      EXPECT_TRUE(pair->server->MayGoOn(absl::Seconds(seconds)));
      pair->client.Read();
      ASSERT_TRUE(pair->server->Advance(absl::Seconds(seconds)));
    }
  }
  EXPECT_TRUE(slow->server->MayGoOn(absl::Seconds(119)));
  EXPECT_FALSE(slow->server->MayGoOn(absl::Seconds(120)));
  EXPECT_TRUE(viewer->server->MayGoOn(absl::Seconds(120)));
}

}  // namespace
}  // namespace fleetperf::aggregator::web
