#include "tests/hostile/http2_connection.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <csignal>

#include "absl/strings/str_cat.h"

namespace fleetperf::testing {
namespace {

constexpr size_t kHeaderBytes = 9;
constexpr unsigned char kProtocols[] = {2, 'h', '2'};

std::string BigEndian(uint32_t value, size_t bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes));
  return text;
}

uint32_t BigEndianAt(absl::string_view bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (const char c : bytes.substr(at, size)) {
    value = value << 8 | static_cast<uint8_t>(c);
  }
  return value;
}

// A literal header field without indexing (RFC 7541, 6.2.2). Both texts are
// shorter than 127 bytes.
std::string Field(absl::string_view name, absl::string_view value) {
  std::string field(1, '\0');
  for (const absl::string_view text : {name, value}) {
    field += static_cast<char>(text.size());
    absl::StrAppend(&field, text);
  }
  return field;
}

// `tls`: nullptr for a client without a certificate.
SSL_CTX* MakeContext(const TlsFiles* tls) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  if (tls != nullptr) {
    SSL_CTX_use_certificate_chain_file(context, tls->certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context, tls->key.c_str(), SSL_FILETYPE_PEM);
  }
  SSL_CTX_set_alpn_protos(context, kProtocols, sizeof kProtocols);
  return context;
}

}  // namespace

std::string Frame(FrameType type, uint8_t flags, uint32_t stream,
                  absl::string_view payload) {
  std::string frame = BigEndian(static_cast<uint32_t>(payload.size()), 3);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  frame += BigEndian(stream, 4);
  absl::StrAppend(&frame, payload);
  return frame;
}

std::string CallFrame(uint32_t stream, absl::string_view method) {
  return Frame(kHeadersFrame, kEndsHeaders, stream,
               Field(":method", "POST") + Field(":scheme", "https") +
                   Field(":path", method) + Field(":authority", "localhost") +
                   Field("content-type", "application/grpc") +
                   Field("te", "trailers"));
}

std::string MessageFrame(uint32_t stream, absl::string_view message,
                         uint8_t flags) {
  std::string payload(1, '\0');  // not compressed
  payload += BigEndian(static_cast<uint32_t>(message.size()), 4);
  absl::StrAppend(&payload, message);
  return Frame(kDataFrame, flags, stream, payload);
}

Http2Connection::Http2Connection(int port, const TlsFiles& tls,
                                 absl::string_view settings)
    : Http2Connection(port, "127.0.0.1", MakeContext(&tls), settings) {}

Http2Connection::Http2Connection(int port, const std::string& from,
                                 absl::string_view settings)
    : Http2Connection(port, from, MakeContext(nullptr), settings) {}

Http2Connection::Http2Connection(int port, const std::string& from,
                                 SSL_CTX* context, absl::string_view settings)
    : connection_(port, from),
      context_(context, SSL_CTX_free),
      ssl_(SSL_new(context_.get()), SSL_free) {
  std::signal(SIGPIPE, SIG_IGN);
  constexpr timeval kReadTimeout = {.tv_usec = 100'000};
  constexpr timeval kWriteTimeout = {.tv_sec = 5};
  SSL_set_fd(ssl_.get(), connection_.fd());
  is_open_ = connection_.is_open() && SSL_connect(ssl_.get()) == 1;
  setsockopt(connection_.fd(), SOL_SOCKET, SO_RCVTIMEO, &kReadTimeout,
             sizeof kReadTimeout);
  setsockopt(connection_.fd(), SOL_SOCKET, SO_SNDTIMEO, &kWriteTimeout,
             sizeof kWriteTimeout);
  Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  Send(Frame(kSettingsFrame, 0, 0, settings));
}

bool Http2Connection::Send(absl::string_view bytes) {
  is_open_ = is_open_ && SSL_write(ssl_.get(), bytes.data(),
                                   static_cast<int>(bytes.size())) > 0;
  return is_open_;
}

bool Http2Connection::ReadAndAcknowledge() {
  if (!is_open_) return false;
  char buffer[16 << 10];
  const int size = SSL_read(ssl_.get(), buffer, sizeof buffer);
  if (size <= 0) {
    // A timeout looks like a read that must be repeated.
    is_open_ = SSL_get_error(ssl_.get(), size) == SSL_ERROR_WANT_READ;
    return is_open_;
  }
  received_.append(buffer, static_cast<size_t>(size));
  Acknowledge();
  return is_open_;
}

void Http2Connection::Acknowledge() {
  while (received_.size() >= kHeaderBytes) {
    const size_t size = kHeaderBytes + BigEndianAt(received_, 0, 3);
    if (received_.size() < size) return;
    const auto type = static_cast<FrameType>(received_[3]);
    const bool asks = (received_[4] & kAcknowledges) == 0;
    if (asks && type == kPingFrame) {
      Send(Frame(kPingFrame, kAcknowledges, 0,
                 absl::string_view(received_).substr(kHeaderBytes, 8)));
    } else if (asks && type == kSettingsFrame) {
      Send(Frame(kSettingsFrame, kAcknowledges, 0, ""));
    }
    received_.erase(0, size);
  }
}

}  // namespace fleetperf::testing
