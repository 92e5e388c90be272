// Frames are written by hand, from RFC 9113, section 4.1.

#include "base/server/http2_frames.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace fleetperf {
namespace {

constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum : uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9
};

std::string Frame(uint8_t type, size_t length) {
  std::string frame = {static_cast<char>(length >> 16),
                       static_cast<char>(length >> 8),
                       static_cast<char>(length), static_cast<char>(type)};
  frame.append(1 + 4, '\0');  // flags and stream
  // Bytes that would be frames of another kind.
  return frame.append(length, '\3');
}

class Http2FramesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    now_ = absl::Hours(1);
    EXPECT_EQ(Take(kPreface), "");
  }

  std::string Take(absl::string_view bytes) {
    return std::string(frames_.Take(bytes, [] { return now_; }));
  }
  // Returns the number of frames before a limit is broken, at most `most`.
  int CountTaken(const std::string& frame, int most) {
    for (int i = 0; i < most; ++i) {
      broken_ = Take(frame);
      if (!broken_.empty()) return i;
    }
    return most;
  }

  static inline absl::Duration now_;
  FrameLimits limits_ = {.rates = {{{50, 100}, {1, 10}, {2, 20}, {5, 50}}},
                         .max_header_bytes = 1000,
                         .max_header_frames = 4};
  Http2Frames frames_{&limits_};
  std::string broken_;
};

TEST_F(Http2FramesTest, BoundsEachKindByItself) {
  const std::tuple<std::string, int, std::string> kinds[] = {
      {Frame(kReset, 4), 10, "resets per second"},
      {Frame(kPing, 8), 20, "pings and settings per second"},
      {Frame(kWindowUpdate, 4), 50, "small frames per second"},
      {Frame(kHeaders, 100), 100, "streams per second"}};
  for (const auto& [broken, burst, limit] : kinds) {
    frames_ = Http2Frames(&limits_);
    EXPECT_EQ(Take(kPreface), "");
    // Frames of other kinds are not charged to it.
    for (const auto& [other, other_burst, other_limit] : kinds) {
      if (other == broken) continue;
      EXPECT_EQ(CountTaken(other, 5), 5);
    }
    EXPECT_EQ(CountTaken(broken, 1000), burst);
    EXPECT_EQ(broken_, limit);
  }
}

TEST_F(Http2FramesTest, AllowsTheRateForEver) {
  EXPECT_EQ(CountTaken(Frame(kSettings, 6), 20), 20);
  for (int second = 0; second < 100; ++second) {
    now_ += absl::Seconds(1);
    EXPECT_EQ(CountTaken(Frame(kSettings, 6), 2), 2) << second;
  }
  EXPECT_EQ(CountTaken(Frame(kSettings, 6), 1), 0);
}

TEST_F(Http2FramesTest, DataIsFreeUnlessItIsEmpty) {
  EXPECT_EQ(CountTaken(Frame(kData, 16'384), 1000), 1000);
  EXPECT_EQ(CountTaken(Frame(kData, 0), 1000), 50);
}

TEST_F(Http2FramesTest, BoundsHeadersThatDoNotEnd) {
  EXPECT_EQ(Take(Frame(kHeaders, 400)), "");
  EXPECT_EQ(Take(Frame(kContinuation, 600)), "");
  EXPECT_EQ(Take(Frame(kContinuation, 1)), "bytes of headers");
}

TEST_F(Http2FramesTest, BoundsTheFramesOfHeaders) {
  EXPECT_EQ(Take(Frame(kHeaders, 0)), "");
  EXPECT_EQ(CountTaken(Frame(kContinuation, 0), 100), 3);
  EXPECT_EQ(broken_, "frames of headers");
}

TEST_F(Http2FramesTest, EachBlockOfHeadersHasItsOwnBounds) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Take(Frame(kHeaders, 900)), "");
    EXPECT_EQ(Take(Frame(kContinuation, 100)), "");
  }
}

// A limit is found at the same frame, however the bytes are cut.
TEST_F(Http2FramesTest, BytesMayComeInAnyPieces) {
  std::string bytes = kPreface;
  for (int i = 0; i < 10; ++i) bytes += Frame(kReset, 4);
  const size_t sound = bytes.size();
  bytes += Frame(kReset, 4);
  for (size_t piece = 1; piece < 40; ++piece) {
    Http2Frames frames(&limits_);
    size_t at = 0;
    absl::string_view broken;
    while (broken.empty() && at < bytes.size()) {
      broken = frames.Take(absl::string_view(bytes).substr(at, piece),
                           [] { return now_; });
      at += piece;
    }
    EXPECT_EQ(broken, "resets per second") << piece;
    EXPECT_GT(at, sound) << piece;
  }
}

// A length is 24 bits, none of which is a sign.
TEST_F(Http2FramesTest, SkipsTheLargestFrame) {
  EXPECT_EQ(Take(Frame(kData, (1 << 24) - 1)), "");
  EXPECT_EQ(CountTaken(Frame(kReset, 4), 1000), 10);
}

}  // namespace
}  // namespace fleetperf
