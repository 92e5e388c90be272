#include "perflib/v1/data_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "perflib/bytes.h"
#include "perflib/counter_type.h"
#include "perflib/utf16.h"
#include "perflib/v1/code_page.h"

namespace fleetperf::perflib {
namespace {

using Problem = Defect::Problem;

constexpr uint16_t kSignature[] = {'P', 'E', 'R', 'F'};

// A multi timer with its number of instances.
constexpr uint32_t kMultiTimerSize = sizeof(uint64_t) + sizeof(uint32_t);

// Returns the CounterSize that the size bits of the type say (winperf.h).
uint32_t SizeByType(const PerfCounterDefinition& counter) {
  switch (counter.counter_type & 0x300) {
    case 0x000:  // PERF_SIZE_DWORD
      return sizeof(uint32_t);
    case 0x100:  // PERF_SIZE_LARGE
      return counter.counter_size == kMultiTimerSize &&
                     IsMultiTimer(counter.counter_type)
                 ? kMultiTimerSize
                 : sizeof(uint64_t);
    case 0x200:  // PERF_SIZE_ZERO
      return 0;
    default:  // PERF_SIZE_VARIABLE_LEN
      return counter.counter_size;
  }
}

// Walks the data. All positions are checked against the end of the structure
// that contains them before they are used, so `end - position` never
// underflows.
class V1Reader {
 public:
  V1Reader(absl::string_view bytes, ParsedV1Data* data)
      : bytes_(bytes), data_(*data) {}

  void Read() {
    if (!ReadDataBlock()) return;
    size_t position = data_.header.header_length;
    const uint32_t count = Bounded("PERF_DATA_BLOCK.NumObjectTypes", 0,
                                   data_.header.num_object_types,
                                   (end_ - position) / sizeof(PerfObjectType));
    for (uint32_t i = 0; i < count; ++i) {
      if (!ReadObject(&position)) return;
    }
    if (position < end_) {
      Warn(Problem::kUnused, "PERF_DATA_BLOCK.TotalByteLength", 0,
           end_ - position, 0);
    }
  }

 private:
  bool ReadDataBlock() {
    if (bytes_.size() < sizeof(PerfDataBlock)) {
      return Reject(Problem::kTruncated, "PERF_DATA_BLOCK", 0,
                    sizeof(PerfDataBlock), bytes_.size());
    }
    const auto header = LoadAt<PerfDataBlock>(bytes_, 0);
    if (!std::equal(std::begin(kSignature), std::end(kSignature),
                    header.signature)) {
      return Reject(Problem::kUnknown, "PERF_DATA_BLOCK.Signature", 0,
                    LoadAt<uint64_t>(bytes_, 0), 0);
    }
    if (header.little_endian != 1) {
      return Reject(Problem::kUnknown, "PERF_DATA_BLOCK.LittleEndian", 0,
                    header.little_endian, 0);
    }
    if (!SizeIsSound("PERF_DATA_BLOCK.TotalByteLength", 0,
                     header.total_byte_length, sizeof header, bytes_.size()) ||
        !SizeIsSound("PERF_DATA_BLOCK.HeaderLength", 0, header.header_length,
                     sizeof header, header.total_byte_length)) {
      return false;
    }
    end_ = header.total_byte_length;
    data_.header = header;
    data_.has_header = true;
    return true;
  }

  // Parses the object at `*position` and advances past it. Returns false if the
  // position of the next object is uncertain.
  bool ReadObject(size_t* position) {
    const size_t start = *position;
    if (!Holds<PerfObjectType>("PERF_OBJECT_TYPE", start, end_)) return false;
    const auto header = LoadAt<PerfObjectType>(bytes_, start);
    if (!SizeIsSound("PERF_OBJECT_TYPE.TotalByteLength", start,
                     header.total_byte_length, sizeof header, end_ - start)) {
      return false;
    }
    *position = start + header.total_byte_length;
    WarnIfUnaligned("PERF_OBJECT_TYPE.TotalByteLength", start,
                    header.total_byte_length);
    if (!SizeIsSound("PERF_OBJECT_TYPE.DefinitionLength", start,
                     header.definition_length, sizeof header,
                     header.total_byte_length) ||
        !SizeIsSound("PERF_OBJECT_TYPE.HeaderLength", start,
                     header.header_length, sizeof header,
                     header.definition_length)) {
      return true;
    }
    if (header.num_instances < kNoInstances) {
      Reject(Problem::kNegative, "PERF_OBJECT_TYPE.NumInstances", start,
             static_cast<uint64_t>(int64_t{header.num_instances}),
             static_cast<uint64_t>(int64_t{kNoInstances}));
      return true;
    }
    if (header.num_instances > 0 && !IsKnownCodePage(header.code_page)) {
      Warn(Problem::kUnknown, "PERF_OBJECT_TYPE.CodePage", start,
           header.code_page, 0);
    }
    V1Object object;
    object.offset = static_cast<uint32_t>(start);
    object.header = header;
    object.counters.begin = Count(data_.counters);
    object.instances.begin = Count(data_.instances);
    const uint64_t defects_before = data_.defect_count;
    farthest_ = {};
    smallest_block_ = std::numeric_limits<uint64_t>::max();
    ReadDefinitions(header, start);
    ReadInstances(header, start);
    CheckFarthestValue();
    object.counters.count = Count(data_.counters) - object.counters.begin;
    object.instances.count = Count(data_.instances) - object.instances.begin;
    object.complete = data_.defect_count == defects_before;
    data_.object_positions.try_emplace(header.object_name_title_index,
                                       Count(data_.objects));
    data_.objects.push_back(object);
    return true;
  }

  void ReadDefinitions(const PerfObjectType& object, size_t object_start) {
    size_t position = object_start + object.header_length;
    const size_t end = object_start + object.definition_length;
    const uint32_t count = Bounded(
        "PERF_OBJECT_TYPE.NumCounters", object_start, object.num_counters,
        (end - position) / sizeof(PerfCounterDefinition));
    Reserve(count, &data_.counters);
    for (uint32_t i = 0; i < count; ++i) {
      if (!Holds<PerfCounterDefinition>("PERF_COUNTER_DEFINITION", position,
                                        end)) {
        return;
      }
      const auto counter = LoadAt<PerfCounterDefinition>(bytes_, position);
      if (!SizeIsSound("PERF_COUNTER_DEFINITION.ByteLength", position,
                       counter.byte_length, sizeof counter, end - position)) {
        return;
      }
      CheckValue(counter, position);
      data_.counters.push_back(counter);
      position += counter.byte_length;
    }
    WarnIfUnused("PERF_OBJECT_TYPE.DefinitionLength", object_start, position,
                 end);
  }

  // Checks the place of the values and keeps the farthest.
  void CheckValue(const PerfCounterDefinition& counter, size_t start) {
    if (const uint32_t size = SizeByType(counter);
        counter.counter_size != size) {
      Warn(Problem::kContradicted, "PERF_COUNTER_DEFINITION.CounterSize", start,
           counter.counter_size, size);
    }
    if (counter.counter_size == 0) return;  // PERF_COUNTER_NODATA
    if (counter.counter_offset < sizeof(PerfCounterBlock)) {
      Reject(Problem::kTooSmall, "PERF_COUNTER_DEFINITION.CounterOffset", start,
             counter.counter_offset, sizeof(PerfCounterBlock));
    }
    const FarthestValue value = {.definition = start,
                                 .offset = counter.counter_offset,
                                 .size = counter.counter_size};
    if (value.end() > farthest_.end()) farthest_ = value;
  }

  void CheckFarthestValue() {
    if (farthest_.end() <= smallest_block_) return;
    if (farthest_.offset > smallest_block_) {
      Reject(Problem::kTooLarge, "PERF_COUNTER_DEFINITION.CounterOffset",
             farthest_.definition, farthest_.offset, smallest_block_);
    } else {
      Reject(Problem::kTooLarge, "PERF_COUNTER_DEFINITION.CounterSize",
             farthest_.definition, farthest_.size,
             smallest_block_ - farthest_.offset);
    }
  }

  void ReadInstances(const PerfObjectType& object, size_t object_start) {
    size_t position = object_start + object.definition_length;
    const size_t end = object_start + object.total_byte_length;
    if (object.num_instances == kNoInstances) {
      V1Instance only;
      if (!ReadCounterBlock(end, &position, &only)) return;
      data_.instances.push_back(only);
    } else {
      const uint32_t count =
          Bounded("PERF_OBJECT_TYPE.NumInstances", object_start,
                  static_cast<uint32_t>(object.num_instances),
                  (end - position) / (sizeof(PerfInstanceDefinition) +
                                      sizeof(PerfCounterBlock)));
      Reserve(count, &data_.instances);
      for (uint32_t i = 0; i < count; ++i) {
        if (!ReadInstance(object.code_page, end, &position)) return;
      }
    }
    WarnIfUnused("PERF_OBJECT_TYPE.TotalByteLength", object_start, position,
                 end);
  }

  // Returns false if the position of the next instance is uncertain.
  bool ReadInstance(uint32_t code_page, size_t end, size_t* position) {
    const size_t start = *position;
    if (!Holds<PerfInstanceDefinition>("PERF_INSTANCE_DEFINITION", start, end))
      return false;
    const auto header = LoadAt<PerfInstanceDefinition>(bytes_, start);
    if (!SizeIsSound("PERF_INSTANCE_DEFINITION.ByteLength", start,
                     header.byte_length, sizeof header, end - start)) {
      return false;
    }
    V1Instance instance = {
        .parent_title_index = header.parent_object_title_index,
        .parent_position = header.parent_object_instance,
        .unique_id = header.unique_id};
    const bool has_name = ReadName(header, start, code_page, &instance);
    *position = start + header.byte_length;
    if (!ReadCounterBlock(end, position, &instance)) return false;
    data_.instances.push_back(has_name ? instance : V1Instance());
    return true;
  }

  bool ReadName(const PerfInstanceDefinition& header, size_t start,
                uint32_t code_page, V1Instance* instance) {
    if (header.name_length == 0) return true;
    if (!SizeIsSound("PERF_INSTANCE_DEFINITION.NameOffset", start,
                     header.name_offset, sizeof header, header.byte_length) ||
        !SizeIsSound("PERF_INSTANCE_DEFINITION.NameLength", start,
                     header.name_length, 0,
                     std::min(header.byte_length - header.name_offset,
                              kMaxV1NameLength))) {
      return false;
    }
    const absl::string_view field =
        bytes_.substr(start + header.name_offset, header.name_length);
    const size_t size = code_page == kUnicodePage ? TerminatedUtf16Length(field)
                                                  : field.find('\0');
    if (size == absl::string_view::npos) {
      return Reject(Problem::kUnterminated, "PERF_INSTANCE_DEFINITION's name",
                    start, 0, field.size());
    }
    instance->name_offset = static_cast<uint32_t>(start + header.name_offset);
    instance->name_size = static_cast<uint32_t>(size);
    return true;
  }

  // Parses the PERF_COUNTER_BLOCK at `*position` and advances past it.
  bool ReadCounterBlock(size_t end, size_t* position, V1Instance* instance) {
    const size_t start = *position;
    if (!Holds<PerfCounterBlock>("PERF_COUNTER_BLOCK", start, end))
      return false;
    const auto block = LoadAt<PerfCounterBlock>(bytes_, start);
    if (!SizeIsSound("PERF_COUNTER_BLOCK.ByteLength", start, block.byte_length,
                     sizeof block, end - start)) {
      return false;
    }
    instance->block_offset = static_cast<uint32_t>(start);
    instance->block_size = block.byte_length;
    smallest_block_ = std::min<uint64_t>(smallest_block_, block.byte_length);
    *position = start + block.byte_length;
    return true;
  }

  // Returns how many of the `claimed` structures have room, and rejects the
  // claim if it is larger.
  uint32_t Bounded(absl::string_view what, size_t offset, uint32_t claimed,
                   size_t room) {
    if (claimed > room) Reject(Problem::kTooLarge, what, offset, claimed, room);
    return static_cast<uint32_t>(std::min<size_t>(claimed, room));
  }

  // Reserves memory once, and at least doubles, so that many small objects take
  // linear time.
  template <typename T>
  static void Reserve(size_t more, std::vector<T>* array) {
    const size_t wanted = array->size() + more;
    if (wanted > array->capacity())
      array->reserve(std::max(wanted, 2 * array->capacity()));
  }

  template <typename T>
  static uint32_t Count(const std::vector<T>& array) {
    return static_cast<uint32_t>(array.size());
  }

  // Returns whether a T fits between `position` and `end`, and rejects it if
  // not.
  template <typename T>
  bool Holds(absl::string_view what, size_t position, size_t end) {
    if (end - position >= sizeof(T)) return true;
    return Reject(Problem::kTruncated, what, position, sizeof(T),
                  end - position);
  }

  bool SizeIsSound(absl::string_view what, size_t offset, uint64_t size,
                   uint64_t at_least, uint64_t at_most) {
    if (size < at_least) {
      return Reject(Problem::kTooSmall, what, offset, size, at_least);
    }
    if (size > at_most) {
      return Reject(Problem::kTooLarge, what, offset, size, at_most);
    }
    return true;
  }

  void WarnIfUnused(absl::string_view what, size_t offset, size_t position,
                    size_t end) {
    // The next structure is aligned.
    if (end - position >= kBlockAlignment) {
      Warn(Problem::kUnused, what, offset, end - position, 0);
    }
  }

  void WarnIfUnaligned(absl::string_view what, size_t offset, uint64_t size) {
    if (size % kBlockAlignment != 0) {
      Warn(Problem::kUnaligned, what, offset, size, kBlockAlignment);
    }
  }

  // Always returns false.
  bool Reject(Problem problem, absl::string_view what, size_t offset,
              uint64_t value, uint64_t limit) {
    ++data_.defect_count;
    if (data_.defects.size() < ParsedV1Data::kMaxDefects) {
      data_.defects.push_back({problem, what, offset, value, limit});
    }
    return false;
  }

  void Warn(Problem problem, absl::string_view what, size_t offset,
            uint64_t value, uint64_t limit) {
    ++data_.warning_count;
    if (data_.warnings.size() < ParsedV1Data::kMaxDefects) {
      data_.warnings.push_back({problem, what, offset, value, limit});
    }
  }

  struct FarthestValue {
    size_t definition = 0;  // the position of its PERF_COUNTER_DEFINITION
    uint32_t offset = 0;
    uint32_t size = 0;

    uint64_t end() const { return uint64_t{offset} + size; }
  };

  const absl::string_view bytes_;
  ParsedV1Data& data_;
  size_t end_ = 0;  // of the data
  // Of the object that is being read.
  FarthestValue farthest_;
  uint64_t smallest_block_ = 0;
};

// Returns whether these bytes of the instance's block are inside it, behind its
// size.
bool IsInside(const V1Instance& instance, uint32_t offset, uint32_t size) {
  return offset >= sizeof(PerfCounterBlock) && offset <= instance.block_size &&
         size <= instance.block_size - offset;
}

template <typename T>
absl::Span<const T> Part(const std::vector<T>& array, const Slice& slice) {
  return absl::MakeConstSpan(array).subspan(slice.begin, slice.count);
}

}  // namespace

const V1Object* ParsedV1Data::FindObject(uint32_t title_index) const {
  const auto found = object_positions.find(title_index);
  return found == object_positions.end() ? nullptr : &objects[found->second];
}

absl::Span<const PerfCounterDefinition> ParsedV1Data::Counters(
    const V1Object& object) const {
  return Part(counters, object.counters);
}

absl::Span<const V1Instance> ParsedV1Data::Instances(
    const V1Object& object) const {
  return Part(instances, object.instances);
}

V1Value ParsedV1Data::ValueOf(const V1Instance& instance,
                              const PerfCounterDefinition& counter) const {
  const uint32_t offset = counter.counter_offset;
  const uint32_t size = counter.counter_size;
  if (!IsInside(instance, offset, size)) return {};
  const size_t at = size_t{instance.block_offset} + offset;
  if (size == sizeof(uint64_t)) return {LoadAt<uint64_t>(bytes, at), size};
  if (size == sizeof(uint32_t)) return {LoadAt<uint32_t>(bytes, at), size};
  if (size == kMultiTimerSize && IsMultiTimer(counter.counter_type)) {
    return {LoadAt<uint64_t>(bytes, at), sizeof(uint64_t)};
  }
  return {};
}

V1Value ParsedV1Data::SecondValueOf(
    const V1Instance& instance, const PerfCounterDefinition& counter) const {
  constexpr uint32_t kFirst = sizeof(uint64_t);
  const uint32_t offset = counter.counter_offset;
  if (!IsInside(instance, offset, kMultiTimerSize)) return {};
  return {
      LoadAt<uint32_t>(bytes, size_t{instance.block_offset} + offset + kFirst),
      sizeof(uint32_t)};
}

std::string ParsedV1Data::Utf16Name(const V1Object& object,
                                    const V1Instance& instance) const {
  return Utf16FromCodePage(
      bytes.substr(instance.name_offset, instance.name_size),
      object.header.code_page);
}

std::string ParsedV1Data::Utf16FullName(const V1Object& object,
                                        const V1Instance& instance) const {
  std::string name = Utf16Name(object, instance);
  if (instance.parent_title_index == 0) return name;
  const V1Object* parent = FindObject(instance.parent_title_index);
  if (parent == nullptr || !parent->HasInstances()) return name;
  const auto parents = Instances(*parent);
  if (instance.parent_position >= parents.size()) return name;
  const V1Instance& found = parents[instance.parent_position];
  if (!found.is_sound()) return name;
  return absl::StrCat(Utf16Name(*parent, found), absl::string_view("/\0", 2),
                      name);
}

void ParsedV1Data::Clear() {
  bytes = {};
  has_header = false;
  header = {};
  objects.clear();
  counters.clear();
  instances.clear();
  object_positions.clear();
  defects.clear();
  defect_count = 0;
  warnings.clear();
  warning_count = 0;
}

void ReadV1Data(absl::string_view bytes, ParsedV1Data* data) {
  data->Clear();
  data->bytes = bytes;
  V1Reader(bytes, data).Read();
}

}  // namespace fleetperf::perflib
