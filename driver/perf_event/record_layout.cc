#include "driver/perf_event/record_layout.h"

namespace fleetperf::perf_event {
namespace {

// Assigns the next 8 bytes to a field if the event has it.
void Place(uint64_t sample_type, uint64_t field, uint8_t* offset,
           FieldOffsets* offsets) {
  if ((sample_type & field) == 0) return;
  *offset = offsets->size;
  offsets->size += 8;
}

FieldOffsets SampleOffsets(uint64_t sample_type) {
  FieldOffsets offsets;
  Place(sample_type, sample::kIdentifier, &offsets.identifier, &offsets);
  Place(sample_type, sample::kIp, &offsets.ip, &offsets);
  Place(sample_type, sample::kTid, &offsets.thread, &offsets);
  Place(sample_type, sample::kTime, &offsets.time, &offsets);
  Place(sample_type, sample::kAddress, &offsets.address, &offsets);
  Place(sample_type, sample::kId, &offsets.id, &offsets);
  Place(sample_type, sample::kStreamId, &offsets.stream_id, &offsets);
  Place(sample_type, sample::kCpu, &offsets.cpu, &offsets);
  Place(sample_type, sample::kPeriod, &offsets.period, &offsets);
  return offsets;
}

// struct sample_id.
FieldOffsets TrailerOffsets(uint64_t sample_type) {
  FieldOffsets offsets;
  Place(sample_type, sample::kTid, &offsets.thread, &offsets);
  Place(sample_type, sample::kTime, &offsets.time, &offsets);
  Place(sample_type, sample::kId, &offsets.id, &offsets);
  Place(sample_type, sample::kStreamId, &offsets.stream_id, &offsets);
  Place(sample_type, sample::kCpu, &offsets.cpu, &offsets);
  Place(sample_type, sample::kIdentifier, &offsets.identifier, &offsets);
  return offsets;
}

constexpr uint64_t kFixed = sample::kIdentifier | sample::kIp | sample::kTid |
                            sample::kTime | sample::kAddress | sample::kId |
                            sample::kStreamId | sample::kCpu | sample::kPeriod;

}  // namespace

RecordLayout::RecordLayout(const Attributes& attributes, std::endian order)
    : sample(SampleOffsets(attributes.sample_type)),
      variable(attributes.sample_type & ~kFixed),
      sample_type(attributes.sample_type),
      read_format(attributes.read_format),
      branch_sample_type(attributes.branch_sample_type),
      regs_user(attributes.sample_regs_user),
      regs_intr(attributes.sample_regs_intr),
      swapped(order != std::endian::native),
      big_endian(order == std::endian::big) {
  parts.callchain = sample.size;
  if ((attributes.flags & flag::kSampleIdAll) != 0) {
    trailer = TrailerOffsets(attributes.sample_type);
  }
}

}  // namespace fleetperf::perf_event
