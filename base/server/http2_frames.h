// Bounds the HTTP/2 frames that a connection receives (RFC 9113).
//
// gRPC 1.51 bounds neither the rate at which a peer begins and resets streams,
// pings and changes settings, nor the size of headers that never end. This
// class reads a connection's decrypted bytes before gRPC does.

#ifndef FLEETPERF_BASE_SERVER_HTTP2_FRAMES_H_
#define FLEETPERF_BASE_SERVER_HTTP2_FRAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace fleetperf {

// The kinds of frames with a rate of their own.
enum class FrameKind : uint8_t {
  kStream,   // HEADERS: begin a stream
  kReset,    // RST_STREAM
  kControl,  // PING, SETTINGS, PRIORITY, PUSH_PROMISE, GOAWAY
  kSmall,    // WINDOW_UPDATE, DATA without data, unknown types
};
inline constexpr size_t kFrameKinds = 4;

struct FrameLimits {
  struct Rate {
    double per_second;
    double burst;
  };
  // By FrameKind. A client that asks as fast as it gets answers stays below;
  // a client's gRPC pings at most ten times a second.
  std::array<Rate, kFrameKinds> rates = {
      Rate{5'000, 5'000}, {20, 100}, {100, 500}, {10'000, 20'000}};
  // Of a block of headers: a HEADERS frame and its CONTINUATION frames.
  uint32_t max_header_bytes = 16 << 10;
  uint32_t max_header_frames = 16;
};

// The frames of one connection, client to server. Thread-compatible.
class Http2Frames {
 public:
  // `limits` must outlive the object.
  explicit Http2Frames(const FrameLimits* limits);

  // Takes the next bytes, of any number. `now` is called only if a rate is
  // charged. Returns "" or the limit that they break: "resets per second".
  // Once a limit is broken, the connection must end.
  absl::string_view Take(absl::string_view bytes, absl::Duration (*now)());

 private:
  static constexpr size_t kHeaderBytes = 9;

  // Handles the frame whose header is complete.
  absl::string_view TakeFrame(absl::Duration (*now)());
  absl::string_view TakeHeaders(uint32_t length, bool is_first);
  absl::string_view Charge(FrameKind kind, absl::Duration now);

  const FrameLimits* limits_;
  std::array<uint8_t, kHeaderBytes> header_ = {};
  size_t header_size_ = 0;
  uint64_t skip_;              // bytes before the next frame's header
  uint32_t block_bytes_ = 0;   // of the current block of headers
  uint32_t block_frames_ = 0;  // of the same
  // The times at which the frames taken would end at the exact rates; see
  // RateBudget in aggregator/ingest.
  std::array<absl::Duration, kFrameKinds> charged_until_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_SERVER_HTTP2_FRAMES_H_
