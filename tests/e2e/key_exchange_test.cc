// Tests of the TLS groups that the ports of all programs accept.

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/os/files.h"
#include "tests/e2e/deployment.h"
#include "tests/support/raw_connection.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {
namespace {

int PortIn(const std::string& text) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text.substr(text.rfind(':') + 1), &port))
      << text;
  return port;
}

// Returns the version of TLS of a client without a certificate that offers only
// `group`, or "" if the server refuses it.
std::string VersionWith(int port, const char* group, int max_version) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), max_version);
  EXPECT_EQ(SSL_CTX_set1_groups_list(context.get(), group), 1);
  // gRPC's port requires it; the page ignores it.
  constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";
  SSL_CTX_set_alpn_protos(context.get(), kProtocols, sizeof kProtocols - 1);
  const RawConnection connection(port);
  constexpr timeval kTimeout = {.tv_sec = 60};
  setsockopt(connection.fd(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout,
             sizeof kTimeout);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()),
                                                      SSL_free);
  SSL_set_fd(ssl.get(), connection.fd());
  return SSL_connect(ssl.get()) == 1 ? SSL_get_version(ssl.get()) : "";
}

TEST(KeyExchange, IsThatOfAFewGroupsAtAllPorts) {
  Deployment deployment;
  const auto aggregator = deployment.StartAggregator(
      "web: {listen: '127.0.0.1:0', address_file: page}\n");
  Process enrolment({Deployment::Executable("fleetperf"), "pki", "serve",
                     "--directory", deployment.directory(), "--listen",
                     "127.0.0.1:0"});
  ASSERT_TRUE(enrolment.WaitForError("listening on 127.0.0.1:"));
  const std::string log = enrolment.error();
  const auto page = ReadFile(deployment.File("page"));
  ASSERT_OK(page);
  const std::string line = log.substr(log.find("127.0.0.1:"));
  for (const int port :
       {PortIn(deployment.address()), PortIn(page->substr(0, page->find('\n'))),
        PortIn(line.substr(0, line.find(' ')))}) {
    for (const char* const group : {"X25519", "P-256"}) {
      EXPECT_EQ(VersionWith(port, group, TLS1_3_VERSION), "TLSv1.3") << group;
    }
    for (const char* const group :
         {"P-384", "P-521", "X448", "ffdhe2048", "ffdhe8192"}) {
      EXPECT_EQ(VersionWith(port, group, TLS1_3_VERSION), "") << group;
    }
    EXPECT_EQ(VersionWith(port, "P-521", TLS1_2_VERSION), "");
  }
}

}  // namespace
}  // namespace fleetperf::testing
