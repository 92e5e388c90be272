// Bits one after the other, the lowest of each byte first.

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

  // The low bits of `bits`; the others must be 0. At most 64.
  void Put(uint64_t bits, int count) {
    buffer_ |= bits << used_;
    used_ += count;
    if (used_ < 64) return;
    to_.append(reinterpret_cast<const char*>(&buffer_), sizeof buffer_);
    used_ -= 64;
    buffer_ = used_ > 0 ? bits >> (count - used_) : 0;
  }

  // That many ones, at most 63, and a zero.
  void PutUnary(int ones) { Put(LowBits(ones), ones + 1); }

  // Fills the last byte with zeros. Nothing may be put after this.
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

  // At most 64. Behind the end there are zeros.
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

  // How many ones come before a zero, which is taken, too. More than `most`
  // are given as `most`, and only so many are taken. At most 55.
  int GetUnary(int most) {
    if (available_ <= most) Fill();
    const int ones = std::countr_one(buffer_);
    if (ones >= most) {
      Skip(most);
      return most;
    }
    Skip(ones + 1);
    return ones;
  }

  // Whether more was read than there is.
  bool overrun() const { return available_ < padding_; }
  // Whether all was read, but for the rest of the last byte.
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
