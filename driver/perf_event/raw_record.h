// A record as the kernel wrote it: a header and bytes.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_RAW_RECORD_H_
#define FLEETPERF_DRIVER_PERF_EVENT_RAW_RECORD_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace fleetperf::perf_event {

// PERF_RECORD_*.
enum class RecordType : uint32_t {
  kMmap = 1,
  kLost = 2,
  kComm = 3,
  kExit = 4,
  kThrottle = 5,
  kUnthrottle = 6,
  kFork = 7,
  kRead = 8,
  kSample = 9,
  kMmap2 = 10,
  kAux = 11,
  kITraceStart = 12,
  kLostSamples = 13,
  kSwitch = 14,
  kSwitchCpuWide = 15,
  kNamespaces = 16,
  kKsymbol = 17,
  kBpfEvent = 18,
  kCgroup = 19,
  kTextPoke = 20,
  kAuxOutputHardwareId = 21,
};

// Bits of RawRecord::misc(). Some have one meaning per type of record.
namespace misc {
inline constexpr uint16_t kCpuModeMask = 7;
inline constexpr uint16_t kCpuModeUnknown = 0;
inline constexpr uint16_t kKernel = 1;
inline constexpr uint16_t kUser = 2;
inline constexpr uint16_t kHypervisor = 3;
inline constexpr uint16_t kGuestKernel = 4;
inline constexpr uint16_t kGuestUser = 5;
inline constexpr uint16_t kProcMapParseTimeout = 1 << 12;
inline constexpr uint16_t kMmapData = 1 << 13;          // kMmap, kMmap2
inline constexpr uint16_t kCommExec = 1 << 13;          // kComm
inline constexpr uint16_t kSwitchOut = 1 << 13;         // kSwitch...
inline constexpr uint16_t kExactIp = 1 << 14;           // kSample
inline constexpr uint16_t kSwitchOutPreempt = 1 << 14;  // kSwitch...
inline constexpr uint16_t kMmapBuildId = 1 << 14;       // kMmap2
}  // namespace misc

struct RecordHeader {
  uint32_t type;
  uint16_t misc;
  uint16_t size;  // with this header
};
static_assert(sizeof(RecordHeader) == 8);

// A view: valid as long as the bytes.
class RawRecord {
 public:
  // A header without a type.
  RawRecord() = default;
  // The bytes at `start` begin with `header`, which may be in another byte
  // order there, and are at least header.size, which is at least 8.
  RawRecord(RecordHeader header, const char* start)
      : start_(start), header_(header) {}

  // Returns the record at the start of `bytes`, which can be longer, as a file
  // holds it. DataLoss: the size is less than that of a header, or more than
  // what is there.
  static absl::StatusOr<RawRecord> FromBytes(
      absl::string_view bytes, std::endian order = std::endian::native);

  // Types that are newer than this library have numbers above those of
  // RecordType.
  RecordType type() const { return static_cast<RecordType>(header_.type); }
  uint16_t misc() const { return header_.misc; }
  // Bytes, with the 8 of the header.
  size_t size() const { return header_.size; }

  absl::string_view bytes() const { return {start_, header_.size}; }
  // What follows the header.
  absl::string_view body() const {
    return {start_ + sizeof(RecordHeader), header_.size - sizeof(RecordHeader)};
  }

 private:
  const char* start_ = nullptr;
  RecordHeader header_ = {.type = 0, .misc = 0, .size = sizeof(RecordHeader)};
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_RAW_RECORD_H_
