#include "driver/perf_event/record_parser.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace fleetperf::perf_event {
namespace {

absl::Status DoesNotFit(const RawRecord& raw, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("a record of type ", static_cast<uint32_t>(raw.type()),
                   " and ", raw.size(), " bytes has no room for its ", what));
}

// Takes fields from the front of a record's body. Fields that do not fit are 0
// or empty, and `missing` names the first of them.
class Fields {
 public:
  Fields(absl::string_view rest, bool swapped)
      : rest_(rest), swapped_(swapped) {}

  const char* missing() const { return missing_; }

  template <typename T>
  T Number(const char* what) {
    if (!Has(sizeof(T), what)) return 0;
    const T number = LoadNumber<T>(rest_.data(), swapped_);
    rest_.remove_prefix(sizeof(T));
    return number;
  }
  uint16_t U16(const char* what) { return Number<uint16_t>(what); }
  uint32_t U32(const char* what) { return Number<uint32_t>(what); }
  uint64_t U64(const char* what) { return Number<uint64_t>(what); }

  ThreadId Thread() {
    const uint32_t pid = U32("pid");
    return {pid, U32("tid")};
  }
  absl::string_view Bytes(uint64_t size, const char* what) {
    if (!Has(size, what)) return {};
    const absl::string_view bytes = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  // `count` numbers of 64 bits, far fewer than 2^61.
  Words List(uint64_t count, const char* what) {
    const absl::string_view bytes = Bytes(count * 8, what);
    return {bytes.data(), bytes.size() / 8, swapped_};
  }
  // All that is left, up to the NUL that ends it.
  absl::string_view Text() { return rest_.substr(0, rest_.find('\0')); }

 private:
  bool Has(uint64_t size, const char* what) {
    if (size <= rest_.size()) return true;
    Miss(what);
    return false;
  }
  void Miss(const char* what) {
    if (missing_ == nullptr) missing_ = what;
    rest_ = {};
  }

  absl::string_view rest_;
  bool swapped_;
  const char* missing_ = nullptr;
};

template <typename T>
T Task(Fields* fields) {
  // The kernel writes pid, ppid, tid, ptid.
  T record;
  record.thread.pid = fields->U32("pid");
  record.parent.pid = fields->U32("parent's pid");
  record.thread.tid = fields->U32("tid");
  record.parent.tid = fields->U32("parent's tid");
  record.time = fields->U64("time");
  return record;
}

template <typename T>
T Throttle(Fields* fields) {
  T record;
  record.time = fields->U64("time");
  record.id = fields->U64("id");
  record.stream_id = fields->U64("stream id");
  return record;
}

// The fields that both kinds of mapping have first.
template <typename T>
T Mapping(const RawRecord& raw, Fields* fields) {
  T record = {};
  record.thread = fields->Thread();
  record.address = fields->U64("address");
  record.length = fields->U64("length");
  record.page_offset = fields->U64("page offset");
  record.is_data = (raw.misc() & misc::kMmapData) != 0;
  return record;
}

MmapRecord Mmap(const RawRecord& raw, Fields* fields) {
  auto record = Mapping<MmapRecord>(raw, fields);
  record.file = fields->Text();
  return record;
}

Mmap2Record Mmap2(const RawRecord& raw, Fields* fields) {
  auto record = Mapping<Mmap2Record>(raw, fields);
  if ((raw.misc() & misc::kMmapBuildId) != 0) {
    constexpr size_t kLargest = 20;
    const auto size = fields->Number<uint8_t>("size of the build id");
    fields->Bytes(3, "build id");
    record.build_id = fields->Bytes(kLargest, "build id").substr(0, size);
  } else {
    record.major = fields->U32("device");
    record.minor = fields->U32("device");
    record.inode = fields->U64("inode");
    record.inode_generation = fields->U64("inode's generation");
  }
  record.protection = fields->U32("protection");
  record.flags = fields->U32("flags");
  record.file = fields->Text();
  return record;
}

CommRecord Comm(const RawRecord& raw, Fields* fields) {
  const ThreadId thread = fields->Thread();
  return {thread, (raw.misc() & misc::kCommExec) != 0, fields->Text()};
}

ReadRecord Read(uint64_t read_format, Fields* fields) {
  const ThreadId thread = fields->Thread();
  Fields ahead = *fields;
  const size_t head = ReadValues::HeadWords(read_format);
  const size_t entry = ReadValues::EntryWords(read_format);
  uint64_t count = 1;
  if ((read_format & read_format::kGroup) != 0) {
    // A larger one than any record could hold does not fit, whatever its size.
    count = std::min<uint64_t>(ahead.U64("number of values"), UINT16_MAX);
  }
  return {thread, ReadValues(fields->List(head + count * entry, "values"),
                             read_format)};
}

NamespacesRecord Namespaces(Fields* fields) {
  const ThreadId thread = fields->Thread();
  const uint64_t count =
      std::min<uint64_t>(fields->U64("number of namespaces"), UINT16_MAX);
  return {thread, fields->List(2 * count, "namespaces")};
}

KsymbolRecord Ksymbol(Fields* fields) {
  KsymbolRecord record;
  record.address = fields->U64("address");
  record.length = fields->U32("length");
  record.type = fields->U16("type of symbol");
  record.unregistered = (fields->U16("flags") & 1) != 0;
  record.name = fields->Text();
  return record;
}

BpfEventRecord BpfEvent(Fields* fields) {
  BpfEventRecord record;
  record.type = fields->U16("type of event");
  record.flags = fields->U16("flags");
  record.id = fields->U32("id");
  record.tag = fields->Bytes(8, "tag");
  return record;
}

TextPokeRecord TextPoke(Fields* fields) {
  TextPokeRecord record;
  record.address = fields->U64("address");
  const uint16_t old_size = fields->U16("old size");
  const uint16_t new_size = fields->U16("new size");
  record.old_bytes = fields->Bytes(old_size, "old bytes");
  record.new_bytes = fields->Bytes(new_size, "new bytes");
  return record;
}

}  // namespace

absl::Status RecordParser::ParseOther(const RawRecord& raw,
                                      Record* record) const {
  record->misc = raw.misc();
  absl::Status status = ParseId(raw, &record->id);
  if (!status.ok()) return status;
  absl::string_view body = raw.body();
  body.remove_suffix(layout_.trailer.size);
  Fields fields(body, layout_.swapped);
  auto& data = record->data;
  const bool out = (raw.misc() & misc::kSwitchOut) != 0;
  const bool preempted = (raw.misc() & misc::kSwitchOutPreempt) != 0;
  switch (raw.type()) {
    case RecordType::kMmap:
      data = Mmap(raw, &fields);
      break;
    case RecordType::kLost: {
      const uint64_t event = fields.U64("id");
      data = LostRecord{event, fields.U64("number of records")};
      break;
    }
    case RecordType::kComm:
      data = Comm(raw, &fields);
      break;
    case RecordType::kExit:
      data = Task<ExitRecord>(&fields);
      break;
    case RecordType::kThrottle:
      data = Throttle<ThrottleRecord>(&fields);
      break;
    case RecordType::kUnthrottle:
      data = Throttle<UnthrottleRecord>(&fields);
      break;
    case RecordType::kFork:
      data = Task<ForkRecord>(&fields);
      break;
    case RecordType::kRead:
      data = Read(layout_.read_format, &fields);
      break;
    case RecordType::kMmap2:
      data = Mmap2(raw, &fields);
      break;
    case RecordType::kAux: {
      const uint64_t offset = fields.U64("offset");
      const uint64_t size = fields.U64("size");
      data = AuxRecord{offset, size, fields.U64("flags")};
      break;
    }
    case RecordType::kITraceStart:
      data = ITraceStartRecord{fields.Thread()};
      break;
    case RecordType::kLostSamples:
      data = LostSamplesRecord{fields.U64("number of samples")};
      break;
    case RecordType::kSwitch:
      data = SwitchRecord{out, preempted};
      break;
    case RecordType::kSwitchCpuWide:
      data = SwitchCpuWideRecord{out, preempted, fields.Thread()};
      break;
    case RecordType::kNamespaces:
      data = Namespaces(&fields);
      break;
    case RecordType::kKsymbol:
      data = Ksymbol(&fields);
      break;
    case RecordType::kBpfEvent:
      data = BpfEvent(&fields);
      break;
    case RecordType::kCgroup: {
      const uint64_t cgroup = fields.U64("id");
      data = CgroupRecord{cgroup, fields.Text()};
      break;
    }
    case RecordType::kTextPoke:
      data = TextPoke(&fields);
      break;
    case RecordType::kAuxOutputHardwareId:
      data = AuxOutputHardwareIdRecord{fields.U64("hardware id")};
      break;
    default:
      data = UnknownRecord{static_cast<uint32_t>(raw.type()), raw.body()};
  }
  if (fields.missing() != nullptr) return DoesNotFit(raw, fields.missing());
  return absl::OkStatus();
}

namespace {

// Measures the parts of a sample, one after the other.
class Parts {
 public:
  Parts(const char* data, uint64_t start, uint64_t size, bool swapped)
      : data_(data), at_(start), size_(size), swapped_(swapped) {}

  uint64_t at() const { return at_; }

  // Steps over `bytes`. Returns whether they are there.
  bool Skip(uint64_t bytes) {
    if (bytes > size_ - at_) return false;
    at_ += bytes;
    return true;
  }
  // Steps over `count` elements.
  bool Skip(uint64_t count, uint64_t bytes) {
    if (count > (size_ - at_) / bytes) return false;
    at_ += count * bytes;
    return true;
  }
  template <typename T>
  bool Number(T* number) {
    if (sizeof(T) > size_ - at_) return false;
    *number = LoadNumber<T>(data_ + at_, swapped_);
    at_ += sizeof(T);
    return true;
  }

  bool SkipRead(uint64_t read_format) {
    const uint64_t entry = 8 * ReadValues::EntryWords(read_format);
    const uint64_t head = 8 * ReadValues::HeadWords(read_format);
    if ((read_format & read_format::kGroup) == 0) return Skip(head + entry);
    uint64_t count;
    return Number(&count) && Skip(head - 8) && Skip(count, entry);
  }
  bool SkipCallchain() {
    uint64_t count;
    return Number(&count) && Skip(count, 8);
  }
  bool SkipRaw() {
    uint32_t size;
    return Number(&size) && Skip(size) && Align();
  }
  bool SkipBranches(uint64_t branch_sample_type, bool index_of_none) {
    const bool index = (branch_sample_type & branch::kHardwareIndex) != 0;
    const bool counters = (branch_sample_type & branch::kCounters) != 0;
    uint64_t count;
    if (!Number(&count)) return false;
    if (index && (count > 0 || index_of_none) && !Skip(8)) return false;
    return Skip(count, 8 * (BranchStack::kEntryWords + (counters ? 1 : 0)));
  }
  bool SkipRegisters(uint64_t mask) {
    uint64_t abi;
    if (!Number(&abi)) return false;
    return abi == 0 || Skip(8 * static_cast<uint64_t>(std::popcount(mask)));
  }
  bool SkipStack() {
    uint64_t size;
    if (!Number(&size)) return false;
    return size == 0 || (Skip(size) && Skip(8));
  }
  bool SkipAux() {
    uint64_t size;
    return Number(&size) && Skip(size) && Align();
  }

 private:
  // Steps over padding.
  bool Align() { return Skip(-at_ % 8); }

  const char* data_;
  uint64_t at_;
  uint64_t size_;
  bool swapped_;
};

uint64_t SizeOf(uint64_t sample_type, uint64_t fields) {
  return 8 * static_cast<uint64_t>(std::popcount(sample_type & fields));
}

}  // namespace

const char* RecordParser::Locate(uint64_t size, bool index_of_none,
                                 Sample* sample, uint64_t* end) const {
  const uint64_t has = layout_.variable;
  SampleParts& places = sample->parts_;
  Parts parts(sample->data_, layout_.sample.size, size, layout_.swapped);
  const auto place = [&] { return static_cast<uint16_t>(parts.at()); };
  if ((has & sample::kRead) != 0) {
    places.read = place();
    if (!parts.SkipRead(layout_.read_format)) return "values";
  }
  if ((has & sample::kCallchain) != 0) {
    places.callchain = place();
    if (!parts.SkipCallchain()) return "call chain";
  }
  if ((has & ~(sample::kRead | sample::kCallchain)) != 0) {
    if ((has & sample::kRaw) != 0) {
      places.raw = place();
      if (!parts.SkipRaw()) return "raw data";
    }
    if ((has & sample::kBranchStack) != 0) {
      places.branches = place();
      if (!parts.SkipBranches(layout_.branch_sample_type, index_of_none)) {
        return "branch stack";
      }
    }
    if ((has & sample::kRegsUser) != 0) {
      places.user_registers = place();
      if (!parts.SkipRegisters(layout_.regs_user)) return "user registers";
    }
    if ((has & sample::kStackUser) != 0) {
      places.user_stack = place();
      if (!parts.SkipStack()) return "user stack";
    }
    // Both kinds of weight are one field.
    constexpr uint64_t kWeights = sample::kWeight | sample::kWeightStruct;
    places.weights = place();
    if ((has & kWeights) != 0 && !parts.Skip(8)) return "weight";
    if (!parts.Skip(SizeOf(has, sample::kDataSource | sample::kTransaction))) {
      return "data source or transaction";
    }
    if ((has & sample::kRegsIntr) != 0) {
      places.interrupt_registers = place();
      if (!parts.SkipRegisters(layout_.regs_intr)) {
        return "interrupt registers";
      }
    }
    places.addresses = place();
    if (!parts.Skip(SizeOf(has, sample::kPhysicalAddress | sample::kCgroup |
                                    sample::kDataPageSize |
                                    sample::kCodePageSize))) {
      return "physical address, cgroup or page size";
    }
    if ((has & sample::kAux) != 0) {
      places.aux = place();
      if (!parts.SkipAux()) return "AUX data";
    }
  }
  *end = parts.at();
  return nullptr;
}

absl::Status RecordParser::ParseParts(const RawRecord& raw,
                                      Sample* sample) const {
  if (raw.type() != RecordType::kSample) {
    return absl::InvalidArgumentError(
        absl::StrCat("a record of type ", static_cast<uint32_t>(raw.type()),
                     " is no sample"));
  }
  const absl::string_view body = raw.body();
  if (body.size() < layout_.sample.size) {
    return DoesNotFit(raw, "fields of fixed size");
  }
  sample->Begin(body.data(), layout_);
  uint64_t end = 0;
  const char* missing = Locate(body.size(), true, sample, &end);
  if ((missing != nullptr || end != body.size()) &&
      (layout_.branch_sample_type & branch::kHardwareIndex) != 0) {
    // The kernel omits the index if the sample has no branch stack. Only the
    // size of the record tells.
    Sample other;
    other.Begin(body.data(), layout_);
    if (Locate(body.size(), false, &other, &end) == nullptr &&
        end == body.size()) {
      *sample = other;
      return absl::OkStatus();
    }
  }
  if (missing != nullptr) return DoesNotFit(raw, missing);
  return absl::OkStatus();
}

absl::Status RecordParser::ParseId(const RawRecord& raw, SampleId* id) const {
  const absl::string_view body = raw.body();
  const bool is_sample = raw.type() == RecordType::kSample;
  const FieldOffsets& offsets = is_sample ? layout_.sample : layout_.trailer;
  if (body.size() < offsets.size) {
    return DoesNotFit(raw, "fields of where and when");
  }
  const size_t at = is_sample ? 0 : body.size() - offsets.size;
  id->Begin(body.data() + at, layout_, offsets);
  return absl::OkStatus();
}

std::optional<uint64_t> RecordParser::EventId(const RawRecord& raw) const {
  const bool is_sample = raw.type() == RecordType::kSample;
  const FieldOffsets& offsets = is_sample ? layout_.sample : layout_.trailer;
  if (offsets.identifier == FieldOffsets::kAbsent) {
    SampleId id;
    if (!ParseId(raw, &id).ok()) return std::nullopt;
    return id.id();
  }
  // The first word of a sample, and the last one of other records.
  const absl::string_view body = raw.body();
  if (body.size() < 8) return std::nullopt;
  return LoadNumber<uint64_t>(body.data() + (is_sample ? 0 : body.size() - 8),
                              layout_.swapped);
}

}  // namespace fleetperf::perf_event
