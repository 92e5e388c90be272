// Reads protobuf's wire format without building messages, for data so frequent
// that messages would dominate the cost:
// https://protobuf.dev/programming-guides/encoding
//
// The bytes are untrusted. After an error, a reader is not ok() and returns no
// more data.

#ifndef FLEETPERF_AGGREGATOR_SAMPLES_WIRE_READER_H_
#define FLEETPERF_AGGREGATOR_SAMPLES_WIRE_READER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/base/attributes.h"
#include "absl/strings/string_view.h"

namespace fleetperf::aggregator {

static_assert(std::endian::native == std::endian::little);

// Reads a sequence of varints: the contents of a packed field.
class VarintReader {
 public:
  explicit VarintReader(absl::string_view bytes)
      : next_(reinterpret_cast<const uint8_t*>(bytes.data())),
        end_(next_ + bytes.size()) {}

  // Returns the next varint. 0 if there is none, or if it is invalid.
  uint64_t Next() {
    if (next_ < end_ && *next_ < 0x80) return *next_++;
    return NextLong();
  }

  // Consumes the next `size` bytes, and returns them.
  absl::string_view Skip(uint64_t size) {
    if (size > left()) {
      ok_ = false;
      next_ = end_;
      return {};
    }
    const auto* skipped = reinterpret_cast<const char*>(next_);
    next_ += size;
    return {skipped, size};
  }

  // Skips the next `count` varints.
  void SkipVarints(uint64_t count) {
    while (count >= sizeof(uint64_t) && left() >= sizeof(uint64_t)) {
      uint64_t bytes;
      std::memcpy(&bytes, next_, sizeof bytes);
      next_ += sizeof bytes;
      count -= static_cast<uint64_t>(std::popcount(~bytes & kContinues));
    }
    for (; count > 0 && next_ < end_; ++next_) count -= *next_ < 0x80;
    ok_ = ok_ && count == 0;
  }

  size_t left() const { return static_cast<size_t>(end_ - next_); }
  bool ok() const { return ok_; }
  bool has_read_all() const { return ok_ && next_ == end_; }

 private:
  static constexpr uint64_t kContinues = 0x8080808080808080;

  uint64_t NextLong() {
    if (left() >= sizeof(uint64_t)) {
      uint64_t bytes;
      std::memcpy(&bytes, next_, sizeof bytes);
      if (const uint64_t stops = ~bytes & kContinues; stops != 0) {
        next_ += std::countr_zero(stops) / 8 + 1;
        return Join(bytes & (stops ^ (stops - 1)));
      }
    }
    const Read read = ReadSlowly(next_, end_);
    next_ = read.next;
    ok_ = ok_ && next_ != nullptr;
    if (!ok_) next_ = end_;
    return read.number;
  }

  // Combines eight groups of seven bits to one of 56: first adjacent groups,
  // then pairs, then fours.
  static uint64_t Join(uint64_t bytes) {
    bytes &= ~kContinues;
    bytes = (bytes & 0x007F007F007F007F) | (bytes & 0x7F007F007F007F00) >> 1;
    bytes = (bytes & 0x00003FFF00003FFF) | (bytes & 0x3FFF00003FFF0000) >> 2;
    return (bytes & 0x000000000FFFFFFF) | (bytes & 0x0FFFFFFF00000000) >> 4;
  }

  struct Read {
    uint64_t number;
    const uint8_t* next;  // null if the varint is invalid
  };

  // Reads a varint of any length. The function does not refer to the reader, so
  // the compiler can keep the reader in registers.
  ABSL_ATTRIBUTE_NOINLINE static Read ReadSlowly(const uint8_t* next,
                                                 const uint8_t* end) {
    uint64_t number = 0;
    for (int shift = 0; shift < 64 && next < end; shift += 7) {
      const uint8_t byte = *next++;
      number |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return {number, next};
    }
    return {0, nullptr};
  }

  const uint8_t* next_;
  const uint8_t* end_;
  bool ok_ = true;
};

// Returns the number of varints in `bytes`.
inline size_t CountVarints(absl::string_view bytes) {
  size_t count = 0;
  for (const char byte : bytes) count += static_cast<uint8_t>(byte) < 0x80;
  return count;
}

// Iterates over the fields of a serialized message. Wire types that proto3 does
// not have are errors.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view message) : reader_(message) {}

  // Advances to the next field. Returns false if there is none.
  bool Next() {
    if (!ok() || reader_.left() == 0) return false;
    const uint64_t tag = reader_.Next();
    field_ = static_cast<uint32_t>(tag >> 3);
    wire_type_ = tag & 7;
    Read();
    is_wrong_ = is_wrong_ || field_ == 0 || tag > UINT32_MAX;
    return ok();
  }

  // The field number in the message's definition.
  uint32_t field() const { return field_; }

  // Return the field's value. If the field has another wire type, the reader
  // fails, and the result is 0 or empty.
  uint64_t Varint() {
    is_wrong_ = is_wrong_ || wire_type_ != kVarint;
    return is_wrong_ ? 0 : varint_;
  }
  absl::string_view Bytes() {
    is_wrong_ = is_wrong_ || wire_type_ != kLengthDelimited;
    return is_wrong_ ? absl::string_view() : bytes_;
  }
  // Reads a packed field. The field must occur only once; a second occurrence
  // is an error and leaves the first in place.
  void TakePacked(absl::string_view* numbers) {
    is_wrong_ = is_wrong_ || !numbers->empty();
    if (!is_wrong_) *numbers = Bytes();
  }

  bool ok() const { return reader_.ok() && !is_wrong_; }

 private:
  enum WireType : uint64_t {
    kVarint = 0,
    kFixed64 = 1,
    kLengthDelimited = 2,
    kFixed32 = 5,
  };

  void Read() {
    switch (wire_type_) {
      case kVarint:
        varint_ = reader_.Next();
        break;
      case kFixed64:
        reader_.Skip(sizeof(uint64_t));
        break;
      case kLengthDelimited:
        bytes_ = reader_.Skip(reader_.Next());
        break;
      case kFixed32:
        reader_.Skip(sizeof(uint32_t));
        break;
      default:
        is_wrong_ = true;
    }
  }

  VarintReader reader_;
  uint32_t field_ = 0;
  uint64_t wire_type_ = 0;
  uint64_t varint_ = 0;
  absl::string_view bytes_;
  bool is_wrong_ = false;
};

}  // namespace fleetperf::aggregator

#endif  // FLEETPERF_AGGREGATOR_SAMPLES_WIRE_READER_H_
