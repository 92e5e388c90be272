// A ring in memory to which tests write as the kernel does, and records to
// write to it.

#ifndef FLEETPERF_TESTS_DRIVER_PERF_EVENT_MEMORY_RING_H_
#define FLEETPERF_TESTS_DRIVER_PERF_EVENT_MEMORY_RING_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "driver/perf_event/mmap_page.h"
#include "driver/perf_event/ring.h"
#include "tests/support/byte_builder.h"

namespace fleetperf::perf_event {

using ::fleetperf::testing::ByteBuilder;

// Returns a record: struct perf_event_header and a body.
inline std::string RecordOf(uint32_t type, uint16_t misc,
                            const std::string& body) {
  return ByteBuilder()
      .U32(type)
      .U16(misc)
      .U16(static_cast<uint16_t>(8 + body.size()))
      .Raw(body)
      .Build();
}

// Returns a record of `size` bytes with a type of its own. Its body consists of
// `fill`.
inline std::string Filled(size_t size, char fill) {
  return RecordOf(1000, 0, std::string(size - 8, fill));
}

class MemoryRing {
 public:
  // Both positions are `start`, which is a multiple of 8.
  explicit MemoryRing(size_t size, uint64_t start = 0) : data_(size / 8) {
    page.data_head = start;
    page.data_tail = start;
  }

  // Writes bytes behind the ones that were written.
  void Append(absl::string_view bytes) {
    for (const char byte : bytes) {
      bytes_()[page.data_head % size()] = byte;
      ++page.data_head;
    }
  }
  // Writes bytes before the ones that were written.
  void Prepend(absl::string_view bytes) {
    page.data_head -= bytes.size();
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes_()[(page.data_head + i) % size()] = bytes[i];
    }
  }

  size_t size() const { return data_.size() * 8; }
  RingMemory memory() { return {&page, {bytes_(), size()}}; }

  MmapPage page = {};

 private:
  char* bytes_() { return reinterpret_cast<char*>(data_.data()); }

  std::vector<uint64_t> data_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_TESTS_DRIVER_PERF_EVENT_MEMORY_RING_H_
