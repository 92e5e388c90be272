// The page's TLS with certificates of its own, and a client at the other end of
// a pair of sockets. Neither end waits.

#ifndef FLEETPERF_TESTS_AGGREGATOR_WEB_TLS_CLIENT_H_
#define FLEETPERF_TESTS_AGGREGATOR_WEB_TLS_CLIENT_H_

#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "aggregator/web/tls.h"
#include "base/os/files.h"
#include "base/server/listening_socket.h"
#include "base/tls/certificates.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::aggregator::web {

class TlsFixture {
 public:
  TlsFixture() {
    const absl::Time end = Clock::Real().Now() + absl::Hours(24);
    const auto authority = MakeAuthority("test", end);
    EXPECT_OK(authority);
    const auto own = IssueCertificate(
        *authority,
        {.role = Role::kAggregator, .names = {"page"}, .not_after = end});
    EXPECT_OK(own);
    const TlsFiles files = {.authority = directory_.File("authority.pem"),
                            .certificate = directory_.File("page.pem"),
                            .key = directory_.File("page.key")};
    EXPECT_OK(WriteFile(files.authority, authority->certificate));
    EXPECT_OK(WriteFile(files.certificate, own->certificate));
    EXPECT_OK(WriteFile(files.key, own->key, FileAccess::kOwnerOnly));
    const auto identity = TlsIdentity::Load(files, Role::kAggregator);
    EXPECT_OK(identity);
    auto server = TlsServer::Make(*identity, *identity);
    EXPECT_OK(server);
    server_ = *std::move(server);
  }

  TlsServer& server() { return *server_; }

 private:
  testing::TempDirectory directory_;
  std::unique_ptr<TlsServer> server_;
};

// A client without a certificate.
class TlsClient {
 public:
  TlsClient() {
    int fds[2];
    EXPECT_EQ(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds),
        0);
    own_ = OwnedFd(fds[0]);
    servers_ = OwnedFd(fds[1]);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), own_.get());
    SSL_set_connect_state(ssl_.get());
  }

  // The server's end, once.
  OwnedFd TakeServersEnd() { return std::move(servers_); }

  // Returns whether the handshake is done.
  bool Handshake() { return SSL_do_handshake(ssl_.get()) == 1; }
  bool Send(absl::string_view bytes) {
    size_t size = 0;
    return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &size) == 1;
  }
  // Sends a record without data.
  bool SendKeyUpdate() {
    return SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
           SSL_do_handshake(ssl_.get()) == 1;
  }
  // Reads what has arrived.
  std::string Read() {
    std::string all;
    char buffer[16 << 10];
    size_t size = 0;
    while (SSL_read_ex(ssl_.get(), buffer, sizeof buffer, &size) == 1) {
      all.append(buffer, size);
    }
    return all;
  }

 private:
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{
      SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  OwnedFd own_;
  OwnedFd servers_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
};

}  // namespace fleetperf::aggregator::web

#endif  // FLEETPERF_TESTS_AGGREGATOR_WEB_TLS_CLIENT_H_
