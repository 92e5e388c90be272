// A client of HTTPS as small as a test needs, in place of a browser.

#ifndef FLEETPERF_TESTS_E2E_HTTPS_CLIENT_H_
#define FLEETPERF_TESTS_E2E_HTTPS_CLIENT_H_

#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "base/tls/credentials.h"
#include "tests/support/raw_connection.h"

namespace fleetperf::testing {

// One connection. Each read waits a minute at most. Thread-compatible.
class HttpsClient {
 public:
  // Connects to 127.0.0.1:`port`, whose certificate must be from
  // `tls.authority`. Shows `tls.certificate`, unless it is "".
  HttpsClient(int port, const TlsFiles& tls);

  bool is_open() const { return is_open_; }

  // Sends a request. `headers` are lines that end with "\r\n".
  void Send(absl::string_view method, absl::string_view path,
            absl::string_view headers = "", absl::string_view body = "");
  // Reads the head of an answer, or returns "".
  std::string ReadHead();
  // Reads the next line of an answer in chunks. std::nullopt at its end.
  std::optional<std::string> ReadLine();

  // Sends a request, and returns the whole answer with its head.
  std::string Ask(absl::string_view method, absl::string_view path,
                  absl::string_view headers = "", absl::string_view body = "");

 private:
  // Reads until `bytes_` has `text`, and returns the bytes up to its end.
  std::string ReadThrough(absl::string_view text);
  std::string ReadBytes(size_t size);
  bool ReadMore();

  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  const RawConnection connection_;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool is_open_ = false;
  std::string bytes_;  // read, not used yet
  std::string lines_;  // of chunks
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_E2E_HTTPS_CLIENT_H_
