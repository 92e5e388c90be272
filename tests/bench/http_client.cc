#include "tests/bench/http_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace fleetperf::bench {
namespace {

size_t Append(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

}  // namespace

class HttpClient::Connection {
 public:
  explicit Connection(int port)
      : curl_(curl_easy_init()), address_(absl::StrCat("127.0.0.1:", port)) {}
  ~Connection() { curl_easy_cleanup(curl_); }

  CURL* curl() { return curl_; }

  absl::StatusOr<std::string> Perform(const std::string& path) {
    const std::string url = absl::StrCat("http://", address_, path);
    std::string body;
    curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &Append);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &body);
    const CURLcode code = curl_easy_perform(curl_);
    long status = 0;
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_reset(curl_);  // the connection stays open
    if (code != CURLE_OK) {
      return absl::UnavailableError(
          absl::StrCat(url, ": ", curl_easy_strerror(code)));
    }
    if (status / 100 != 2) {
      return absl::InternalError(absl::StrCat(url, ": ", status, ": ", body));
    }
    return body;
  }

 private:
  CURL* const curl_;
  const std::string address_;
};

HttpClient::HttpClient(int port)
    : connection_(std::make_unique<Connection>(port)) {}

HttpClient::~HttpClient() = default;

absl::StatusOr<std::string> HttpClient::Get(const std::string& path,
                                            const Parameters& parameters) {
  std::string url = path;
  for (const auto& [name, value] : parameters) {
    char* escaped = curl_easy_escape(connection_->curl(), value.data(),
                                     static_cast<int>(value.size()));
    absl::StrAppend(&url, url == path ? "?" : "&", name, "=", escaped);
    curl_free(escaped);
  }
  return connection_->Perform(url);
}

absl::StatusOr<std::string> HttpClient::Post(
    const std::string& path, const std::vector<std::string>& headers,
    absl::string_view body) {
  // Without this header, curl would wait for "100 Continue" before large
  // bodies.
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const std::string& header : headers) {
    list = curl_slist_append(list, header.c_str());
  }
  CURL* curl = connection_->curl();
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  auto answer = connection_->Perform(path);
  curl_slist_free_all(list);
  return answer;
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  int port = 0;
  if (bind(fd, any, size) == 0 && getsockname(fd, any, &size) == 0) {
    port = ntohs(address.sin_port);
  }
  close(fd);
  return port;
}

}  // namespace fleetperf::bench
