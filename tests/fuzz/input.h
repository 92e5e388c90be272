#ifndef FLEETPERF_TESTS_FUZZ_INPUT_H_
#define FLEETPERF_TESTS_FUZZ_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "perflib/bytes.h"

namespace fleetperf {

// Reads values from the front of a fuzzer's input. Reads past the end yield
// zeros.
class Input {
 public:
  explicit Input(absl::string_view bytes) : rest_(bytes) {}
  Input(const uint8_t* data, size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }

  uint8_t Byte() { return Load<uint8_t>(); }

  // Reads a number: a small one or a boundary value, encoded in one byte, or an
  // arbitrary one in nine bytes.
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
        (uint64_t{1} << 40) - 1,  // largest sequence of a batch
        uint64_t{1} << 40,
        (uint64_t{1} << 23) - 1,
        uint64_t{1} << 23,
        (uint64_t{1} << 23) - 2};
    const uint8_t first = Byte();
    if (first >= kAny) return Load<uint64_t>();
    constexpr uint8_t kFirstEnd = kAny - sizeof kEnds / sizeof kEnds[0];
    return first < kFirstEnd ? first : kEnds[first - kFirstEnd];
  }

  // Reads a duration of less than a year: waits on a clock that had reached
  // infinity would never end.
  absl::Duration Wait() {
    constexpr uint64_t kSecondsOfAYear = 365 * 24 * 3600;
    return absl::Seconds(Number() % kSecondsOfAYear);
  }

  // Reads a 2-byte size and that many bytes, or fewer at the end of the input.
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
