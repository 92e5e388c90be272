// Bit streams. Bits are stored in sequence, starting at the lowest bit of each
// byte.

#ifndef FLEETPERF_AGGREGATOR_STORE_CODEC_BIT_STREAM_H_
#define FLEETPERF_AGGREGATOR_STORE_CODEC_BIT_STREAM_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t LowBits(int count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

class BitWriter {
 public:
  explicit BitWriter(std::string* to) : to_(*to) {}

  // Appends the low `count` bits of `bits`, at most 64. All other bits must be
  // 0.
  void Put(uint64_t bits, int count) {
    buffer_ |= bits << used_;
    used_ += count;
    if (used_ < 64) return;
    to_.append(reinterpret_cast<const char*>(&buffer_), sizeof buffer_);
    used_ -= 64;
    buffer_ = used_ > 0 ? bits >> (count - used_) : 0;
  }

  // Appends `ones` one bits, at most 63, and a zero bit.
  void PutUnary(int ones) { Put(LowBits(ones), ones + 1); }

  // Pads the last byte with zeros. No bits may be appended afterwards.
  void Finish() {
    to_.append(reinterpret_cast<const char*>(&buffer_),
               static_cast<size_t>(used_ + 7) / 8);
  }

 private:
  std::string& to_;
  uint64_t buffer_ = 0;
  int used_ = 0;  // less than 64
};

class BitReader {
 public:
  explicit BitReader(absl::string_view bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Reads `count` bits, at most 64. Past the end, all bits are zero.
  uint64_t Get(int count) {
    if (count > kAtOnce) {
      const uint64_t low = Get(32);
      return low | Get(count - 32) << 32;
    }
    if (available_ < count) Fill();
    const uint64_t bits = buffer_ & LowBits(count);
    Skip(count);
    return bits;
  }

  // Returns the number of ones before the next zero, and consumes the zero.
  // Returns `max`, and consumes only `max` ones, if there are at least that
  // many. `max` is at most 55.
  int GetUnary(int max) {
    if (available_ <= max) Fill();
    const int ones = std::countr_one(buffer_);
    if (ones >= max) {
      Skip(max);
      return max;
    }
    Skip(ones + 1);
    return ones;
  }

  // Returns whether more bits were read than exist.
  bool overrun() const { return available_ < padding_; }
  // Returns whether all bits were read, except the padding of the last byte.
  bool finished() const {
    return !overrun() && next_ == end_ && available_ - padding_ < 8;
  }

 private:
  static constexpr int kAtOnce = 56;

  void Skip(int count) {
    buffer_ >>= count;
    available_ -= count;
  }

  void Fill() {
    if (end_ - next_ >= 8) {
      uint64_t word;
      std::memcpy(&word, next_, sizeof word);
      buffer_ |= word << available_;
      next_ += (63 - available_) >> 3;
      available_ |= kAtOnce;
      return;
    }
    for (; available_ <= kAtOnce; available_ += 8) {
      if (next_ == end_) {
        padding_ += 8;
      } else {
        buffer_ |= uint64_t{static_cast<uint8_t>(*next_++)} << available_;
      }
    }
  }

  const char* next_;
  const char* end_;
  uint64_t buffer_ = 0;
  int available_ = 0;  // bits in buffer_
  int64_t padding_ = 0;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_STORE_CODEC_BIT_STREAM_H_
