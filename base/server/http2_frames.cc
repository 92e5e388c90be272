#include "base/server/http2_frames.h"

#include <algorithm>

namespace fleetperf {
namespace {

// "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", which gRPC checks.
constexpr uint64_t kPrefaceBytes = 24;

// RFC 9113, section 6.
enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kRstStream = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoaway = 7,
  kContinuation = 9,
};

constexpr absl::string_view kRateNames[kFrameKinds] = {
    "streams per second", "resets per second", "pings and settings per second",
    "small frames per second"};

}  // namespace

Http2Frames::Http2Frames(const FrameLimits* limits)
    : limits_(limits), skip_(kPrefaceBytes) {
  charged_until_.fill(-absl::InfiniteDuration());
}

absl::string_view Http2Frames::Take(absl::string_view bytes,
                                    absl::Duration (*now)()) {
  while (!bytes.empty()) {
    if (skip_ > 0) {
      const uint64_t skipped = std::min<uint64_t>(skip_, bytes.size());
      skip_ -= skipped;
      bytes.remove_prefix(skipped);
      continue;
    }
    const size_t taken = std::min(kHeaderBytes - header_size_, bytes.size());
    std::copy_n(bytes.begin(), taken, header_.begin() + header_size_);
    header_size_ += taken;
    bytes.remove_prefix(taken);
    if (header_size_ < kHeaderBytes) break;
    header_size_ = 0;
    const absl::string_view broken = TakeFrame(now);
    if (!broken.empty()) return broken;
  }
  return "";
}

absl::string_view Http2Frames::TakeFrame(absl::Duration (*now)()) {
  const uint32_t length = uint32_t{header_[0]} << 16 |
                          uint32_t{header_[1]} << 8 | uint32_t{header_[2]};
  skip_ = length;
  switch (header_[3]) {
    case kHeaders: {
      const absl::string_view broken = TakeHeaders(length, true);
      return broken.empty() ? Charge(FrameKind::kStream, now()) : broken;
    }
    case kContinuation:
      return TakeHeaders(length, false);
    case kData:
      return length > 0 ? "" : Charge(FrameKind::kSmall, now());
    case kRstStream:
      return Charge(FrameKind::kReset, now());
    case kPriority:
    case kSettings:
    case kPushPromise:
    case kPing:
    case kGoaway:
      return Charge(FrameKind::kControl, now());
    default:
      return Charge(FrameKind::kSmall, now());
  }
}

// A block that ends, or that another frame interrupts, need not be told apart:
// gRPC closes the connection if frames are out of order.
absl::string_view Http2Frames::TakeHeaders(uint32_t length, bool is_first) {
  if (is_first) block_bytes_ = block_frames_ = 0;
  if (length > limits_->max_header_bytes - block_bytes_) {
    return "bytes of headers";
  }
  block_bytes_ += length;
  return ++block_frames_ > limits_->max_header_frames ? "frames of headers"
                                                      : "";
}

absl::string_view Http2Frames::Charge(FrameKind kind, absl::Duration now) {
  const auto i = static_cast<size_t>(kind);
  const FrameLimits::Rate& rate = limits_->rates[i];
  const absl::Duration burst = absl::Seconds(rate.burst / rate.per_second);
  charged_until_[i] = std::max(charged_until_[i], now - burst) +
                      absl::Seconds(1 / rate.per_second);
  return charged_until_[i] > now ? kRateNames[i] : "";
}

}  // namespace fleetperf
