// Turns the bytes of a record into its fields.
//
//   Record record;
//   RETURN_IF_ERROR(parser.Parse(raw, &record));
//   if (const auto* sample = std::get_if<Sample>(&record.data)) {
//     Use(sample->ip(), sample->callchain());
//   }

#ifndef FLEETPERF_DRIVER_PERF_EVENT_RECORD_PARSER_H_
#define FLEETPERF_DRIVER_PERF_EVENT_RECORD_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "driver/perf_event/raw_record.h"
#include "driver/perf_event/record.h"
#include "driver/perf_event/record_layout.h"
#include "driver/perf_event/sample.h"

namespace fleetperf::perf_event {

// Parses the records of one event, or of events with equal layouts. Thread-safe
// as a constant.
//
// Bytes of records come from outside: every size in them is compared with the
// bytes that are there. DataLoss names the field that does not fit. Nothing is
// allocated except that message.
class RecordParser {
 public:
  explicit RecordParser(const RecordLayout& layout) : layout_(layout) {}

  const RecordLayout& layout() const { return layout_; }

  // Sets `record`, which then refers to the bytes of `raw` and to the parser.
  // After an error, its value is unspecified.
  absl::Status Parse(const RawRecord& raw, Record* record) const {
    if (ABSL_PREDICT_FALSE(raw.type() != RecordType::kSample)) {
      return ParseOther(raw, record);
    }
    auto* sample = std::get_if<Sample>(&record->data);
    if (sample == nullptr) sample = &record->data.emplace<Sample>();
    record->misc = raw.misc();
    record->id.Begin(raw.body().data(), layout_, layout_.sample);
    return ParseSample(raw, sample);
  }

  // The same for a record of RecordType::kSample. InvalidArgument: the record
  // has another type.
  absl::Status ParseSample(const RawRecord& raw, Sample* sample) const {
    const absl::string_view body = raw.body();
    const size_t fixed = layout_.sample.size;
    if (ABSL_PREDICT_FALSE(raw.type() != RecordType::kSample ||
                           body.size() < fixed)) {
      return ParseParts(raw, sample);
    }
    sample->Begin(body.data(), layout_);
    if (layout_.variable == 0) return absl::OkStatus();
    // The most frequent part, if it is the only one.
    if (layout_.variable == sample::kCallchain && body.size() - fixed >= 8 &&
        sample->NumberAt(fixed) <= (body.size() - fixed - 8) / 8) {
      return absl::OkStatus();
    }
    return ParseParts(raw, sample);
  }

  // Sets `id` without a look at the other fields.
  absl::Status ParseId(const RawRecord& raw, SampleId* id) const;

  // Returns SampleId::id() of the record. With sample::kIdentifier, the record
  // may be one of any event that has it, too: see Sampler::Add.
  std::optional<uint64_t> EventId(const RawRecord& raw) const;

 private:
  absl::Status ParseOther(const RawRecord& raw, Record* record) const;
  absl::Status ParseParts(const RawRecord& raw, Sample* sample) const;
  // Sets the places of the parts. Returns the part that does not fit, or
  // nullptr. `index_of_none`: branch stacks of no entry have an index.
  const char* Locate(uint64_t size, bool index_of_none, Sample* sample,
                     uint64_t* end) const;

  RecordLayout layout_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_RECORD_PARSER_H_
