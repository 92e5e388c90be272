// Records that own the bytes and the parser to which they refer.

#ifndef FLEETPERF_TESTS_DRIVER_PERF_EVENT_PARSED_RECORD_H_
#define FLEETPERF_TESTS_DRIVER_PERF_EVENT_PARSED_RECORD_H_

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <utility>
#include <variant>

#include "driver/perf_event/attributes.h"
#include "driver/perf_event/record_parser.h"
#include "tests/driver/perf_event/memory_ring.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {

inline constexpr uint64_t kAllIds = sample::kTid | sample::kTime | sample::kId |
                                    sample::kStreamId | sample::kCpu |
                                    sample::kIdentifier;

inline Attributes WithIds(uint64_t sample_type = kAllIds) {
  Attributes attributes;
  attributes.sample_type = sample_type;
  attributes.flags = flag::kSampleIdAll;
  return attributes;
}

// struct sample_id with all fields: pid 11, tid 12, time 13, id 14, stream id
// 15, CPU 16, identifier 17.
inline std::string Trailer() {
  return ByteBuilder()
      .U32(11)
      .U32(12)
      .U64(13)
      .U64(14)
      .U64(15)
      .U32(16)
      .U32(0)
      .U64(17)
      .Build();
}

// Keeps the bytes and the parser that a record refers to.
class Parsed {
 public:
  Parsed(std::string bytes, const Attributes& attributes,
         std::endian order = std::endian::native)
      : bytes_(std::move(bytes)), parser_(RecordLayout(attributes, order)) {
    absl::StatusOr<RawRecord> raw = RawRecord::FromBytes(bytes_, order);
    status_ = raw.status();
    if (raw.ok()) status_ = parser_.Parse(*raw, &record_);
  }

  const absl::Status& status() const { return status_; }
  const Record& record() const { return record_; }
  template <typename T>
  const T& As() const {
    EXPECT_OK(status_);
    return std::get<T>(record_.data);
  }

 private:
  std::string bytes_;
  RecordParser parser_;
  Record record_;
  absl::Status status_;
};

// Returns a record of `type` with the body and all ids.
inline Parsed Parse(uint32_t type, uint16_t misc, const ByteBuilder& body) {
  return {RecordOf(type, misc, body.Build() + Trailer()), WithIds()};
}

inline Attributes Sampling(uint64_t sample_type) {
  Attributes attributes;
  attributes.sample_type = sample_type;
  return attributes;
}

// Keeps the bytes and the parser that a sample refers to.
class ParsedSample {
 public:
  ParsedSample(const Attributes& attributes, const ByteBuilder& body,
               std::endian order = std::endian::native)
      : bytes_(RecordOf(9, 0, body.Build())),
        parser_(RecordLayout(attributes, order)) {
    status_ = parser_.ParseSample(*RawRecord::FromBytes(bytes_), &sample_);
  }

  const absl::Status& status() const { return status_; }
  const Sample* operator->() const {
    EXPECT_OK(status_);
    return &sample_;
  }

 private:
  std::string bytes_;
  RecordParser parser_;
  Sample sample_;
  absl::Status status_;
};

inline Attributes SamplingBranches(uint64_t branch_sample_type) {
  Attributes attributes = Sampling(sample::kBranchStack | sample::kCgroup);
  attributes.branch_sample_type = branch_sample_type;
  return attributes;
}

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_TESTS_DRIVER_PERF_EVENT_PARSED_RECORD_H_
