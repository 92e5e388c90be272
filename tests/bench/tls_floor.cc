#include "tests/bench/tls_floor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/e2e/https_client.h"

namespace fleetperf::bench {
namespace {

using Ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;
using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

// A port of 127.0.0.1, and its connections.
class FloorSocket {
 public:
  FloorSocket() : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listening_, any, size) == 0 &&
        listen(listening_, SOMAXCONN) == 0 &&
        getsockname(listening_, any, &size) == 0) {
      port_ = ntohs(address.sin_port);
    }
  }
  ~FloorSocket() {
    for (const int fd : accepted_) close(fd);
    close(listening_);
  }

  int port() const { return port_; }
  int Accept() {
    return accepted_.emplace_back(
        accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  const int listening_;
  int port_ = 0;
  std::vector<int> accepted_;
};

absl::Duration ThreadTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

// A chunk of HTTP with one line.
std::string ChunkOf(size_t bytes) {
  return absl::StrCat(absl::Hex(bytes), "\r\n", std::string(bytes - 1, '7'),
                      "\n\r\n");
}

bool Write(SSL* ssl, const std::string& bytes) {
  size_t written = 0;
  return SSL_write_ex(ssl, bytes.data(), bytes.size(), &written) == 1;
}

}  // namespace

absl::StatusOr<absl::Duration> MeasureTlsFloor(const FloorLoad& load,
                                               const TlsFiles& server) {
  const Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (SSL_CTX_use_certificate_chain_file(context.get(),
                                         server.certificate.c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context.get(), server.key.c_str(),
                                  SSL_FILETYPE_PEM) != 1) {
    return absl::InternalError("OpenSSL cannot use the certificate");
  }
  FloorSocket socket;
  std::vector<std::thread> readers;
  std::vector<Ssl> connections;
  bool works = true;
  for (size_t i = 0; i < load.readers; ++i) {
    readers.emplace_back([&server, port = socket.port()] {
      testing::HttpsClient reader(port, {.authority = server.authority});
      while (reader.ReadLine().has_value()) continue;
    });
    Ssl ssl(SSL_new(context.get()), SSL_free);
    SSL_set_fd(ssl.get(), socket.Accept());
    works &= SSL_accept(ssl.get()) == 1;
    connections.push_back(std::move(ssl));
  }
  const std::string line = ChunkOf(load.line_bytes);
  const std::string other =
      load.other_bytes > 0 ? ChunkOf(load.other_bytes) : "";
  const absl::Duration before = ThreadTime();
  absl::Time next = absl::Now();
  for (size_t round = 0; round < load.rounds; ++round, next += load.pause) {
    absl::SleepFor(next - absl::Now());
    for (const Ssl& ssl : connections) works &= Write(ssl.get(), line);
    if (other.empty()) continue;
    works &= Write(connections[round % load.readers].get(), other);
  }
  const absl::Duration cost = ThreadTime() - before;
  for (const Ssl& ssl : connections) works &= Write(ssl.get(), "0\r\n\r\n");
  for (std::thread& reader : readers) reader.join();
  if (!works) return absl::InternalError("TLS alone does not work");
  return cost;
}

}  // namespace fleetperf::bench
