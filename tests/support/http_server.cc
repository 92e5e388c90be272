#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/patience.h"

namespace fleetperf::testing {
namespace {

// Returns null if the text is not PEM.
X509* ReadX509(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return certificate;
}

SSL_CTX* MakeTls(const std::string& certificate, const std::string& key,
                 const std::string& client_authority) {
  signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to closed connections
  SSL_CTX* tls = SSL_CTX_new(TLS_server_method());
  X509* own = ReadX509(certificate);
  SSL_CTX_use_certificate(tls, own);
  X509_free(own);
  BIO* bio = BIO_new_mem_buf(key.data(), static_cast<int>(key.size()));
  EVP_PKEY* own_key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  SSL_CTX_use_PrivateKey(tls, own_key);
  EVP_PKEY_free(own_key);
  X509* authority = ReadX509(client_authority);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), authority);
  X509_free(authority);
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     nullptr);
  return tls;
}

}  // namespace

// The bytes of a connection.
class HttpServer::Stream {
 public:
  Stream(int fd, SSL_CTX* tls) : fd_(fd) {
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, fd);
    is_open_ = SSL_accept(ssl_) == 1;
  }
  ~Stream() { SSL_free(ssl_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool is_open() const { return is_open_; }

  // Returns the text before the next `end`, which it removes; false if the
  // stream ends earlier.
  bool ReadUntil(const std::string& end, std::string* text) {
    size_t at;
    while ((at = received_.find(end)) == std::string::npos) {
      if (!Receive()) return false;
    }
    *text = received_.substr(0, at);
    received_.erase(0, at + end.size());
    return true;
  }
  bool ReadBytes(size_t size, std::string* text) {
    while (received_.size() < size) {
      if (!Receive()) return false;
    }
    *text = received_.substr(0, size);
    received_.erase(0, size);
    return true;
  }
  void ReadToEnd() {
    while (Receive()) {
    }
  }

  void Write(const std::string& text) {
    if (ssl_ != nullptr) {
      SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
    } else {
      send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    }
  }

 private:
  bool Receive() {
    char bytes[16384];
    const ssize_t size = ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof bytes)
                                         : recv(fd_, bytes, sizeof bytes, 0);
    if (size <= 0) return false;
    received_.append(bytes, static_cast<size_t>(size));
    return true;
  }

  const int fd_;
  SSL* ssl_ = nullptr;
  bool is_open_ = true;
  std::string received_;
};

HttpServer::HttpServer(const std::string& certificate, const std::string& key,
                       const std::string& client_authority)
    : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (!certificate.empty()) tls_ = MakeTls(certificate, key, client_authority);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (bind(listener_, any, size) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, any, &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  accept_thread_ = std::thread([this] { Accept(); });
}

HttpServer::~HttpServer() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
    for (const int fd : connections_) shutdown(fd, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  accept_thread_.join();
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(&mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  for (const int fd : connections_) close(fd);
  close(listener_);
  SSL_CTX_free(tls_);
}

std::string HttpServer::url() const {
  return absl::StrCat(tls_ == nullptr ? "http" : "https",
                      "://127.0.0.1:", port_, "/write");
}

void HttpServer::Answer(HttpAnswer answer) {
  absl::MutexLock lock(&mutex_);
  answers_.push_back(std::move(answer));
}

std::vector<HttpRequest> HttpServer::requests() const {
  absl::MutexLock lock(&mutex_);
  return requests_;
}

bool HttpServer::AwaitRequests(size_t count) const {
  absl::MutexLock lock(&mutex_);
  const auto has_come = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return requests_.size() >= count;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&has_come), kPatience);
}

void HttpServer::Accept() {
  for (int connection = 1;; ++connection) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    absl::MutexLock lock(&mutex_);
    connections_.push_back(fd);  // stays open until the end
    if (is_stopping_) return;
    threads_.emplace_back([this, fd, connection] { Serve(fd, connection); });
  }
}

void HttpServer::Serve(int fd, int connection) {
  Stream stream(fd, tls_);
  while (stream.is_open() && ServeOne(&stream, connection)) {
  }
  shutdown(fd, SHUT_RDWR);
}

bool HttpServer::ServeOne(Stream* stream, int connection) {
  HttpRequest request;
  request.connection = connection;
  std::string head;
  if (!stream->ReadUntil("\r\n\r\n", &head)) return false;
  std::vector<std::string> lines = absl::StrSplit(head, "\r\n");
  request.line = lines[0];
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> header =
        absl::StrSplit(lines[i], absl::MaxSplits(": ", 1));
    request.headers[absl::AsciiStrToLower(header.first)] = header.second;
  }
  uint64_t size = 0;
  if (!absl::SimpleAtoi(request.headers["content-length"], &size)) return false;
  if (!stream->ReadBytes(size, &request.body)) return false;
  const HttpAnswer answer = Take(std::move(request));
  if (answer.kind == HttpAnswer::kNone) {
    stream->ReadToEnd();
    return false;
  }
  std::string text = absl::StrCat("HTTP/1.1 ", answer.status, " Text\r\n");
  for (const std::string& header : answer.headers) {
    absl::StrAppend(&text, header, "\r\n");
  }
  const bool is_partial = answer.kind == HttpAnswer::kPartial;
  if (answer.status != 204) {
    absl::StrAppend(&text, "Content-Length: ",
                    answer.body.size() + (is_partial ? 1 : 0), "\r\n");
  }
  stream->Write(absl::StrCat(text, "\r\n", answer.body));
  return !is_partial;
}

HttpAnswer HttpServer::Take(HttpRequest request) {
  absl::MutexLock lock(&mutex_);
  requests_.push_back(std::move(request));
  if (answers_.empty()) return {};
  HttpAnswer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

}  // namespace fleetperf::testing
