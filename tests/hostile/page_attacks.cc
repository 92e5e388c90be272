#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <csignal>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/hostile/attacks.h"
#include "tests/support/raw_connection.h"

namespace fleetperf::testing {
namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

// The attackers without an identity come from another address than others.
constexpr char kStranger[] = "127.0.0.2";

// `tls`: nullptr for a client without a certificate.
Context PageContext(const TlsFiles* tls) {
  std::signal(SIGPIPE, SIG_IGN);
  Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (tls != nullptr) {
    SSL_CTX_use_certificate_chain_file(context.get(), tls->certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), tls->key.c_str(),
                                SSL_FILETYPE_PEM);
  }
  return context;
}

constexpr time_t kPatienceSeconds = 60;
constexpr time_t kShort = 1;  // for clients that the aggregator stops

// A TLS connection to the page's port, whose bytes are sent as they are. Each
// wait lasts `seconds` at most.
class Client {
 public:
  Client(const Target& target, SSL_CTX* context, const std::string& from,
         time_t seconds = kShort)
      : connection_(target.page_port, from), ssl_(SSL_new(context), SSL_free) {
    const timeval timeout = {.tv_sec = seconds};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
      setsockopt(connection_.fd(), SOL_SOCKET, option, &timeout,
                 sizeof timeout);
    }
    SSL_set_fd(ssl_.get(), connection_.fd());
    is_open_ = connection_.is_open() && SSL_connect(ssl_.get()) == 1;
  }

  bool Send(absl::string_view bytes) {
    size_t size = 0;
    return is_open_ = is_open_ && SSL_write_ex(ssl_.get(), bytes.data(),
                                               bytes.size(), &size) == 1;
  }
  // Returns all bytes until the aggregator closes the connection.
  std::string Read() {
    std::string all;
    char buffer[4096];
    size_t size = 0;
    while (is_open_ &&
           SSL_read_ex(ssl_.get(), buffer, sizeof buffer, &size) == 1) {
      all.append(buffer, size);
    }
    return all;
  }
  SSL* ssl() { return ssl_.get(); }
  bool is_open() const { return is_open_; }

 private:
  const RawConnection connection_;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool is_open_ = false;
};

// Requests that arrive byte by byte, with an identity and without.
void SendSlowly(const Target& target, const Stop& stop) {
  constexpr size_t kOpen = 300;
  const Context reader = PageContext(&target.reader);
  const Context stranger = PageContext(nullptr);
  std::deque<std::unique_ptr<Client>> open;
  while (!stop()) {
    if (open.size() < kOpen) {
      const bool is_strange = open.size() % 2 == 0;
      open.push_back(std::make_unique<Client>(
          target, is_strange ? stranger.get() : reader.get(),
          is_strange ? kStranger : target.from));
      open.back()->Send(
          "POST /api/v1/query HTTP/1.1\r\nHost: a\r\n"
          "Content-Type: application/json\r\nContent-Length: 262144\r\n");
      open.back()->Send(is_strange ? "X: " : "\r\n");
    }
    std::erase_if(open, [](const auto& client) { return !client->Send("["); });
  }
}

std::string Post(absl::string_view headers, absl::string_view body) {
  return absl::StrCat(
      "POST /api/v1/machines HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
      "Content-Type: application/json\r\n",
      headers, "\r\n", body);
}

std::string Get(absl::string_view path, absl::string_view headers = "") {
  return absl::StrCat("GET ", path,
                      " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", headers,
                      "\r\n");
}

// Requests that a reader must not get anything for. Some hide a second one.
std::vector<std::string> WrongRequests() {
  const std::string hidden = Get("/healthz");
  std::vector<std::string> requests = {
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
      "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\x16\x03\x01\r\n\r\n",
      Get("/", "Host: b\r\n"),
      Get("/", "A : b\r\n"),
      Get("/", "A: b\r\n c\r\n"),
      Get("/", std::string("A: \0\r\n", 6)),
      Get("/", absl::StrCat("A: ", std::string(20 << 10, 'a'), "\r\n")),
      Get("/" + std::string(20 << 10, 'a')),
      Post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
           "0\r\n\r\n" + hidden),
      Post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n" + hidden),
      Post("Content-Length: 2\r\nContent-Length: 3\r\n", "{}" + hidden),
      Post("Content-Length: 2, 2\r\n", "{}" + hidden),
      Post("Content-Length: +2\r\n", "{}" + hidden),
      Post("Content-Length: -1\r\n", "{}" + hidden),
      Post("Content-Length: 99999999999999999999\r\n", "{}" + hidden),
      Post("Content-Length: 1000000000\r\n", ""),
      Post("Content-Length: 2\r\nSec-Fetch-Site: cross-site\r\n", "{}"),
      Post("Content-Length: 200000\r\n", std::string(200'000, '[')),
      Post("Content-Length: 7\r\n", "{\"\xff\":1}"),
      "POST /api/v1/machines HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
      "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
      Get("/api/v1/machines"),
      Get("/../../etc/passwd"),
      Get("/assets/../../../etc/passwd"),
      Get("/assets/..%2f..%2fetc%2fpasswd"),
      Get("//etc/passwd"),
      Get("/login?token=00"),
      Get("/login")};
  for (const char* const method : {"DELETE", "PUT", "TRACE", "OPTIONS"}) {
    requests.push_back(absl::StrCat(
        method, " / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  }
  std::string paths;
  for (int i = 0; i < 33; ++i) paths += "path=%5C*(*)%5C*&";
  requests.push_back(Get("/metrics?" + paths));
  std::string many;
  for (int i = 0; i < 200; ++i) absl::StrAppend(&many, "A: b\r\n");
  requests.push_back(Get("/", many));
  return requests;
}

// Requests that are fine, but come with no session, or with a wrong one.
std::vector<std::string> StrangeRequests() {
  const std::string cookie = absl::StrCat(
      "Cookie: __Host-fleetperf_443_session=", std::string(64, 'a'), "\r\n");
  return {Get("/"),
          Get("/", cookie),
          Get("/assets/index.js", cookie),
          Get("/favicon.svg"),
          Post(cookie + "Content-Length: 2\r\n", "{}"),
          Post(absl::StrCat(cookie, cookie, "Content-Length: 2\r\n"), "{}"),
          Post("Authorization: Basic YTph\r\nContent-Length: 2\r\n", "{}"),
          Get(absl::StrCat("/login?token=", std::string(64, 'a'))),
          Get(absl::StrCat("/login?token=", std::string(10'000, 'a')))};
}

// Each request gets one answer, and that is a refusal.
void AskWrongly(const Target& target, const Stop& stop) {
  const Context reader = PageContext(&target.reader);
  const Context stranger = PageContext(nullptr);
  const auto ask = [&](const Context& context, const std::string& from,
                       const std::string& request) {
    Client client(target, context.get(), from, kPatienceSeconds);
    client.Send(request);
    const std::string answer = client.Read();
    EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 4") ||
                absl::StartsWith(answer, "HTTP/1.1 5"))
        << request.substr(0, 200) << answer;
    EXPECT_EQ(answer.find("HTTP/1.1 ", 1), answer.npos) << answer;
  };
  do {
    for (const std::string& request : WrongRequests()) {
      ask(reader, target.from, request);
    }
    for (const std::string& request : StrangeRequests()) {
      ask(stranger, kStranger, request);
    }
  } while (!stop());
}

// TLS records without data: new keys, and renegotiations of TLS 1.2.
void UpdateKeys(const Target& target, const Stop& stop) {
  const Context newer = PageContext(&target.reader);
  const Context older = PageContext(&target.reader);
  SSL_CTX_set_max_proto_version(older.get(), TLS1_2_VERSION);
  // Otherwise, there would be no attack.
  EXPECT_TRUE(
      Client(target, older.get(), target.from, kPatienceSeconds).is_open());
  EXPECT_TRUE(
      Client(target, newer.get(), target.from, kPatienceSeconds).is_open());
  while (!stop()) {
    Client renegotiating(target, older.get(), target.from);
    SSL_renegotiate(renegotiating.ssl());
    EXPECT_NE(SSL_do_handshake(renegotiating.ssl()), 1);
    Client updating(target, newer.get(), target.from);
    for (int i = 0; i < 10'000 && !stop(); ++i) {
      if (SSL_key_update(updating.ssl(), SSL_KEY_UPDATE_REQUESTED) != 1 ||
          SSL_do_handshake(updating.ssl()) != 1) {
        break;
      }
    }
  }
}

// Requests on many connections whose answers are never read.
void ReadNoAnswers(const Target& target, const Stop& stop) {
  constexpr size_t kOpen = 150;
  const Context reader = PageContext(&target.reader);
  std::deque<std::unique_ptr<Client>> open;
  while (!stop()) {
    open.push_back(std::make_unique<Client>(target, reader.get(), target.from));
    if (open.size() > kOpen) open.pop_front();
    if (open.size() % 2 == 0) {
      const std::string body = R"({"paths":["\\Numbers\\Number"]})";
      open.back()->Send(
          absl::StrCat("POST /api/v1/subscribe HTTP/1.1\r\nHost: a\r\n"
                       "Content-Type: application/json\r\nContent-Length: ",
                       body.size(), "\r\n\r\n", body));
    } else {
      std::string requests;
      for (int i = 0; i < 500; ++i) {
        requests += "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
      }
      open.back()->Send(requests);
    }
  }
}

// As many connections of a certificate as the page has for all.
void HoldPage(const Target& target, const Stop& stop) {
  constexpr size_t kWanted = 2500;
  const Context reader = PageContext(&target.reader);
  std::vector<std::unique_ptr<Client>> open;
  while (!stop()) {
    if (open.size() == kWanted) open.clear();
    open.push_back(std::make_unique<Client>(target, reader.get(), target.from));
  }
}

}  // namespace

std::vector<Attack> PageAttacks() {
  std::vector<Attack> attacks = StrangerAttacks("page: ", &Target::page_port);
  attacks.insert(attacks.end(), {{"page: slow requests", SendSlowly},
                                 {"page: wrong requests", AskWrongly},
                                 {"page: key updates", UpdateKeys},
                                 {"page: answers not read", ReadNoAnswers},
                                 {"page: connections", HoldPage}});
  return attacks;
}

}  // namespace fleetperf::testing
