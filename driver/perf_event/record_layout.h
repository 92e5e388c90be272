// Where the fields of an event's records are, worked out once from the event's
// attributes.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_RECORD_LAYOUT_H_
#define FLEETPERF_DRIVER_PERF_EVENT_RECORD_LAYOUT_H_

#include <bit>
#include <cstdint>

#include "driver/perf_event/attributes.h"

namespace fleetperf::perf_event {

// Offsets of the fields that say where and when, and of those around them. All
// have 8 bytes.
struct FieldOffsets {
  static constexpr uint8_t kAbsent = 0xFF;

  uint8_t identifier = kAbsent;
  uint8_t ip = kAbsent;
  uint8_t thread = kAbsent;
  uint8_t time = kAbsent;
  uint8_t address = kAbsent;
  uint8_t id = kAbsent;
  uint8_t stream_id = kAbsent;
  uint8_t cpu = kAbsent;
  uint8_t period = kAbsent;
  uint8_t size = 0;  // of all

  friend bool operator==(const FieldOffsets&, const FieldOffsets&) = default;
};

// Offsets of the parts of a sample whose place depends on the sizes of parts
// before them. Those that the event does not have have no meaning.
struct SampleParts {
  uint16_t read = 0;
  uint16_t callchain = 0;
  uint16_t raw = 0;
  uint16_t branches = 0;
  uint16_t user_registers = 0;
  uint16_t user_stack = 0;
  uint16_t weights = 0;  // and data source and transaction
  uint16_t interrupt_registers = 0;
  uint16_t addresses = 0;  // physical address, cgroup, page sizes
  uint16_t aux = 0;

  friend bool operator==(const SampleParts&, const SampleParts&) = default;
};

struct RecordLayout {
  // `order` is the byte order of the records, which is another machine's if
  // they come from a file.
  explicit RecordLayout(const Attributes& attributes,
                        std::endian order = std::endian::native);

  // At the start of a sample's body.
  FieldOffsets sample;
  // At the start of the last `trailer.size` bytes of any other record. Empty
  // without flag::kSampleIdAll.
  FieldOffsets trailer;

  // What follows the fields of `sample` in a sample: bits of namespace sample.
  uint64_t variable = 0;
  // Where the first part begins, in case that there is only one.
  SampleParts parts;
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t branch_sample_type = 0;
  uint64_t regs_user = 0;
  uint64_t regs_intr = 0;
  bool swapped = false;     // not in this machine's byte order
  bool big_endian = false;  // byte order of the records

  // Whether records of both can be parsed with either.
  friend bool operator==(const RecordLayout&, const RecordLayout&) = default;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_RECORD_LAYOUT_H_
