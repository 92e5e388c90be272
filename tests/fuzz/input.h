#ifndef FLEETPERF_TESTS_FUZZ_INPUT_H_
#define FLEETPERF_TESTS_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "perflib/bytes.h"

namespace fleetperf {

// Takes an input apart from its front. Behind its end there are only zeros.
class Input {
 public:
  explicit Input(absl::string_view bytes) : rest_(bytes) {}
  Input(const uint8_t* data, size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }

  uint8_t Byte() { return Load<uint8_t>(); }

  // One that is small, one at which something ends, or any: most numbers that
  // matter take one byte.
  uint64_t Number() {
    constexpr uint8_t kAny = 0xF0;
    constexpr uint64_t kEnds[] = {
        std::numeric_limits<uint64_t>::max(),
        std::numeric_limits<uint64_t>::max() - 1,
        uint64_t{1} << 63,
        (uint64_t{1} << 63) - 1,
        std::numeric_limits<uint32_t>::max(),
        std::numeric_limits<uint32_t>::max() - 1,
        uint64_t{1} << 32,
        (uint64_t{1} << 40) - 1,  // of a sequence in the spool's file
        uint64_t{1} << 40,
        (uint64_t{1} << 23) - 1,  // of an epoch's number there
        uint64_t{1} << 23,
        (uint64_t{1} << 23) - 2};
    const uint8_t first = Byte();
    if (first >= kAny) return Load<uint64_t>();
    constexpr uint8_t kFirstEnd = kAny - sizeof kEnds / sizeof kEnds[0];
    return first < kFirstEnd ? first : kEnds[first - kFirstEnd];
  }

  // At most a year: a clock that reached infinity would make waits endless.
  absl::Duration Wait() {
    constexpr uint64_t kSecondsOfAYear = 365 * 24 * 3600;
    return absl::Seconds(Number() % kSecondsOfAYear);
  }

  // Bytes with their size before them, in 2 bytes; may be cut short.
  absl::string_view Bytes() {
    const auto size = Load<uint16_t>();
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

  absl::string_view rest() const { return rest_; }

 private:
  template <typename T>
  T Load() {
    if (rest_.size() < sizeof(T)) {
      rest_ = {};
      return 0;
    }
    const T number = perflib::LoadAt<T>(rest_, 0);
    rest_.remove_prefix(sizeof(T));
    return number;
  }

  absl::string_view rest_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_TESTS_FUZZ_INPUT_H_
