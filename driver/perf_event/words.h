// Numbers in records, which need not be aligned nor be in this machine's byte
// order.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_WORDS_H_
#define FLEETPERF_DRIVER_PERF_EVENT_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

#include "absl/base/optimization.h"

namespace fleetperf::perf_event {

// Loads an unsigned number of 1, 2, 4 or 8 bytes.
template <typename T>
T LoadNumber(const char* at, bool swapped) {
  T number;
  std::memcpy(&number, at, sizeof(number));
  if (ABSL_PREDICT_TRUE(!swapped)) return number;
  if constexpr (sizeof(T) == 8) {
    return __builtin_bswap64(number);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(number);
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(number);
  } else {
    return number;
  }
}

// A view of 64-bit numbers: valid as long as the bytes.
class Words {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = uint64_t;
    using difference_type = std::ptrdiff_t;
    using pointer = const uint64_t*;
    using reference = uint64_t;

    Iterator() = default;
    Iterator(const char* at, bool swapped) : at_(at), swapped_(swapped) {}
    uint64_t operator*() const { return LoadNumber<uint64_t>(at_, swapped_); }
    Iterator& operator++() {
      at_ += sizeof(uint64_t);
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.at_ == b.at_;
    }

   private:
    const char* at_ = nullptr;
    bool swapped_ = false;
  };
  using const_iterator = Iterator;
  using value_type = uint64_t;

  Words() = default;
  Words(const char* data, size_t size, bool swapped)
      : data_(data), size_(size), swapped_(swapped) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // `index` is less than size().
  uint64_t operator[](size_t index) const {
    return LoadNumber<uint64_t>(data_ + index * sizeof(uint64_t), swapped_);
  }
  Iterator begin() const { return {data_, swapped_}; }
  Iterator end() const { return {data_ + size_ * sizeof(uint64_t), swapped_}; }
  std::vector<uint64_t> ToVector() const { return {begin(), end()}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
  bool swapped_ = false;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_WORDS_H_
