// A TLS connection that sends HTTP/2 frames as a test dictates (RFC 9113).

#ifndef FLEETPERF_TESTS_HOSTILE_HTTP2_CONNECTION_H_
#define FLEETPERF_TESTS_HOSTILE_HTTP2_CONNECTION_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "base/tls/credentials.h"
#include "tests/support/raw_connection.h"

namespace fleetperf::testing {

enum FrameType : uint8_t {
  kDataFrame = 0,
  kHeadersFrame = 1,
  kResetFrame = 3,
  kSettingsFrame = 4,
  kPingFrame = 6,
  kContinuationFrame = 9,
};
inline constexpr uint8_t kAcknowledges = 0x1;  // SETTINGS, PING
inline constexpr uint8_t kEndsStream = 0x1;    // DATA, HEADERS
inline constexpr uint8_t kEndsHeaders = 0x4;   // HEADERS, CONTINUATION

// The method with which agents send their messages.
inline constexpr char kCollect[] = "/fleetperf.v1.CollectionService/Collect";
// The only method of `fleetperf pki serve`.
inline constexpr char kEnroll[] = "/fleetperf.v1.EnrolmentService/Enroll";

std::string Frame(FrameType type, uint8_t flags, uint32_t stream,
                  absl::string_view payload);
// Returns the HEADERS frame that begins a call of a gRPC method.
std::string CallFrame(uint32_t stream, absl::string_view method);
// Returns the DATA frame with a message of a call, by default the only one.
std::string MessageFrame(uint32_t stream, absl::string_view message,
                         uint8_t flags = kEndsStream);

// Thread-compatible.
class Http2Connection {
 public:
  // Connects to a port of 127.0.0.1 and sends the preface and `settings`, the
  // payload of a SETTINGS frame. Failures end the connection.
  Http2Connection(int port, const TlsFiles& tls,
                  absl::string_view settings = "");
  // The same without a certificate, from another address of this machine.
  Http2Connection(int port, const std::string& from,
                  absl::string_view settings = "");

  bool is_open() const { return is_open_; }

  // Returns false, also from then on, if the peer has closed the connection.
  bool Send(absl::string_view bytes);
  // Reads what has arrived within a tenth of a second, and acknowledges pings
  // and settings, as a client must.
  bool ReadAndAcknowledge();

 private:
  Http2Connection(int port, const std::string& from, SSL_CTX* context,
                  absl::string_view settings);
  void Acknowledge();

  RawConnection connection_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool is_open_ = false;
  std::string received_;  // frames that are not complete
};

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_HOSTILE_HTTP2_CONNECTION_H_
