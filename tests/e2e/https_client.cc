#include "tests/e2e/https_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace fleetperf::testing {
namespace {

SSL_CTX* MakeContext(const TlsFiles& tls) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_load_verify_locations(context, tls.authority.c_str(), nullptr);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (!tls.certificate.empty()) {
    SSL_CTX_use_certificate_chain_file(context, tls.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context, tls.key.c_str(), SSL_FILETYPE_PEM);
  }
  return context;
}

}  // namespace

HttpsClient::HttpsClient(int port, const TlsFiles& tls)
    : context_(MakeContext(tls), SSL_CTX_free),
      connection_(port),
      ssl_(SSL_new(context_.get()), SSL_free) {
  constexpr timeval kTimeout = {.tv_sec = 60};
  setsockopt(connection_.fd(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout,
             sizeof kTimeout);
  SSL_set_fd(ssl_.get(), connection_.fd());
  is_open_ = connection_.is_open() && SSL_connect(ssl_.get()) == 1;
}

void HttpsClient::Send(absl::string_view method, absl::string_view path,
                       absl::string_view headers, absl::string_view body) {
  const std::string request =
      absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n",
                   headers, "Content-Length: ", body.size(), "\r\n\r\n", body);
  size_t written = 0;
  is_open_ = is_open_ && SSL_write_ex(ssl_.get(), request.data(),
                                      request.size(), &written) == 1;
}

bool HttpsClient::ReadMore() {
  char bytes[4096];
  size_t size = 0;
  is_open_ =
      is_open_ && SSL_read_ex(ssl_.get(), bytes, sizeof bytes, &size) == 1;
  bytes_.append(bytes, size);
  return is_open_;
}

std::string HttpsClient::ReadThrough(absl::string_view text) {
  size_t found;
  while ((found = absl::string_view(bytes_).find(text)) ==
         absl::string_view::npos) {
    if (!ReadMore()) return "";
  }
  return ReadBytes(found + text.size());
}

std::string HttpsClient::ReadBytes(size_t size) {
  while (bytes_.size() < size && ReadMore()) continue;
  const std::string bytes = bytes_.substr(0, size);
  bytes_.erase(0, size);
  return bytes;
}

std::string HttpsClient::ReadHead() { return ReadThrough("\r\n\r\n"); }

std::optional<std::string> HttpsClient::ReadLine() {
  size_t end;
  while ((end = lines_.find('\n')) == lines_.npos) {
    size_t size = 0;
    const std::string text = ReadThrough("\r\n");
    if (!absl::SimpleHexAtoi(text, &size)) return std::nullopt;
    lines_ += ReadBytes(size);
    ReadBytes(2);
    if (size == 0) return std::nullopt;
  }
  const std::string line = lines_.substr(0, end);
  lines_.erase(0, end + 1);
  return line;
}

std::string HttpsClient::Ask(absl::string_view method, absl::string_view path,
                             absl::string_view headers,
                             absl::string_view body) {
  Send(method, path, headers, body);
  std::string answer = ReadHead();
  constexpr absl::string_view kLength = "Content-Length: ";
  const size_t at = absl::string_view(answer).find(kLength);
  if (at == absl::string_view::npos) {
    while (const auto line = ReadLine()) absl::StrAppend(&answer, *line, "\n");
    return answer;
  }
  size_t size = 0;
  const std::string digits = answer.substr(at + kLength.size());
  if (!absl::SimpleAtoi(digits.substr(0, digits.find("\r")), &size)) return "";
  return answer + ReadBytes(size);
}

}  // namespace fleetperf::testing
