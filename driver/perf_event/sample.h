// What a record says about where and when something happened, and all that a
// sample contains. Views, created by RecordParser: valid as long as the
// record's bytes and the parser. Fields are decoded when they are asked for.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_SAMPLE_H_
#define FLEETPERF_DRIVER_PERF_EVENT_SAMPLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "driver/perf_event/attributes.h"
#include "driver/perf_event/record_layout.h"
#include "driver/perf_event/sample_fields.h"
#include "driver/perf_event/words.h"

namespace fleetperf::perf_event {

// Where and when. A field exists if the event's sample_type has it, and, in
// records that are no samples, flag::kSampleIdAll is set.
class SampleId {
 public:
  // Only assignment and destruction may follow.
  SampleId() = default;
  std::optional<ThreadId> thread() const {
    if (offsets_->thread == FieldOffsets::kAbsent) return std::nullopt;
    const char* const at = data_ + offsets_->thread;
    return ThreadId{LoadNumber<uint32_t>(at, swapped()),
                    LoadNumber<uint32_t>(at + 4, swapped())};
  }
  // ns, of the clock that Attributes::clock_id names, or else of the kernel's
  // scheduler.
  std::optional<uint64_t> time() const { return U64(offsets_->time); }
  // Counter::id() of the event, from sample::kIdentifier or sample::kId.
  // Inherited events have the id of the event that was opened.
  std::optional<uint64_t> id() const {
    return U64(offsets_->identifier != FieldOffsets::kAbsent
                   ? offsets_->identifier
                   : offsets_->id);
  }
  // The id of the inherited event itself.
  std::optional<uint64_t> stream_id() const { return U64(offsets_->stream_id); }
  std::optional<uint32_t> cpu() const {
    if (offsets_->cpu == FieldOffsets::kAbsent) return std::nullopt;
    return LoadNumber<uint32_t>(data_ + offsets_->cpu, swapped());
  }

 protected:
  friend class RecordParser;

  // Starts to refer to the bytes at `data`, to which `offsets` apply. Assigns
  // members one by one: copies of whole objects that were just written wait for
  // the writes.
  void Begin(const char* data, const RecordLayout& layout,
             const FieldOffsets& offsets) {
    data_ = data;
    layout_ = &layout;
    offsets_ = &offsets;
  }

  std::optional<uint64_t> U64(uint8_t offset) const {
    if (offset == FieldOffsets::kAbsent) return std::nullopt;
    return NumberAt(offset);
  }
  uint64_t NumberAt(size_t offset) const {
    return LoadNumber<uint64_t>(data_ + offset, swapped());
  }
  bool swapped() const { return layout_->swapped; }

  const char* data_;
  const RecordLayout* layout_;
  const FieldOffsets* offsets_;
};

// kSample. Each field names the bit of namespace sample without which it is
// absent or empty.
class Sample : public SampleId {
 public:
  // Only assignment and destruction may follow.
  Sample() = default;

  // Whether the event's records have a field of namespace sample.
  bool Has(uint64_t field) const { return (layout_->sample_type & field) != 0; }

  std::optional<uint64_t> ip() const { return U64(offsets_->ip); }  // kIp
  // The address of a memory access, or of a breakpoint. kAddress.
  std::optional<uint64_t> address() const { return U64(offsets_->address); }
  // Events since the previous sample. kPeriod.
  std::optional<uint64_t> period() const { return U64(offsets_->period); }

  // kRead.
  std::optional<ReadValues> read() const;
  // Addresses, the innermost first, between the markers of namespace
  // callchain. kCallchain.
  Words callchain() const {
    if (!Has(sample::kCallchain)) return {};
    return Counted(parts_.callchain);
  }
  // The record of a tracepoint, or the output of an eBPF program, with up to 7
  // bytes of padding. kRaw.
  absl::string_view raw() const;
  BranchStack branches() const;            // kBranchStack
  Registers user_registers() const;        // kRegsUser
  Registers interrupt_registers() const;   // kRegsIntr
  absl::string_view user_stack() const;    // kStackUser; what is valid
  std::optional<uint64_t> weight() const;  // kWeight
  std::optional<WeightStruct> weight_struct() const;  // kWeightStruct
  std::optional<DataSource> data_source() const;      // kDataSource
  std::optional<Transaction> transaction() const;     // kTransaction
  std::optional<uint64_t> physical_address() const;   // kPhysicalAddress
  std::optional<uint64_t> cgroup() const;             // kCgroup: its id
  std::optional<uint64_t> data_page_size() const;     // kDataPageSize
  std::optional<uint64_t> code_page_size() const;     // kCodePageSize
  absl::string_view aux() const;                      // kAux

 private:
  friend class RecordParser;

  void Begin(const char* data, const RecordLayout& layout) {
    SampleId::Begin(data, layout, layout.sample);
    parts_ = layout.parts;
  }

  // Words after the number of words.
  Words Counted(size_t offset) const {
    return {data_ + offset + 8, static_cast<size_t>(NumberAt(offset)),
            swapped()};
  }
  // A field among those of `fields`, which are in the order of their bits.
  std::optional<uint64_t> FieldOf(uint64_t field, uint64_t fields,
                                  size_t offset) const;
  Registers RegistersAt(size_t offset, uint64_t mask) const;

  SampleParts parts_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_SAMPLE_H_
