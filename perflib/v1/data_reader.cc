#include "perflib/v1/data_reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "perflib/bytes.h"
#include "perflib/utf16.h"
#include "perflib/v1/code_page.h"

namespace fleetperf::perflib {
namespace {

using Problem = Defect::Problem;

constexpr uint16_t kSignature[] = {'P', 'E', 'R', 'F'};

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
    for (uint32_t i = 0; i < data_.header.num_object_types; ++i) {
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
      Reject(Problem::kUnknown, "PERF_OBJECT_TYPE.NumInstances", start,
             static_cast<uint32_t>(header.num_instances), 0);
      return true;
    }
    V1Object object;
    object.offset = static_cast<uint32_t>(start);
    object.header = header;
    object.counters.begin = Count(data_.counters);
    object.instances.begin = Count(data_.instances);
    const bool has_counters = ReadDefinitions(header, start);
    const bool has_instances = ReadInstances(header, start);
    object.counters.count = Count(data_.counters) - object.counters.begin;
    object.instances.count = Count(data_.instances) - object.instances.begin;
    object.complete = has_counters && has_instances;
    data_.objects.push_back(object);
    return true;
  }

  bool ReadDefinitions(const PerfObjectType& object, size_t object_start) {
    size_t position = object_start + object.header_length;
    const size_t end = object_start + object.definition_length;
    Reserve(object.num_counters,
            (end - position) / sizeof(PerfCounterDefinition), &data_.counters);
    for (uint32_t i = 0; i < object.num_counters; ++i) {
      if (!Holds<PerfCounterDefinition>("PERF_COUNTER_DEFINITION", position,
                                        end)) {
        return false;
      }
      const auto counter = LoadAt<PerfCounterDefinition>(bytes_, position);
      if (!SizeIsSound("PERF_COUNTER_DEFINITION.ByteLength", position,
                       counter.byte_length, sizeof counter, end - position)) {
        return false;
      }
      data_.counters.push_back(counter);
      position += counter.byte_length;
    }
    WarnIfUnused("PERF_OBJECT_TYPE.DefinitionLength", object_start, position,
                 end);
    return true;
  }

  bool ReadInstances(const PerfObjectType& object, size_t object_start) {
    size_t position = object_start + object.definition_length;
    const size_t end = object_start + object.total_byte_length;
    if (object.num_instances == kNoInstances) {
      V1Instance only;
      if (!ReadCounterBlock(end, &position, &only)) return false;
      data_.instances.push_back(only);
    } else {
      const auto count = static_cast<uint32_t>(object.num_instances);
      Reserve(count,
              (end - position) /
                  (sizeof(PerfInstanceDefinition) + sizeof(PerfCounterBlock)),
              &data_.instances);
      for (uint32_t i = 0; i < count; ++i) {
        if (!ReadInstance(object.code_page, end, &position)) return false;
      }
    }
    WarnIfUnused("PERF_OBJECT_TYPE.TotalByteLength", object_start, position,
                 end);
    return true;
  }

  // Returns false if the position of the next instance is uncertain. An
  // instance without a sound name is left out, so the object is incomplete.
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
    if (!ReadName(header, start, code_page, &instance)) return false;
    *position = start + header.byte_length;
    if (!ReadCounterBlock(end, position, &instance)) return false;
    data_.instances.push_back(instance);
    return true;
  }

  bool ReadName(const PerfInstanceDefinition& header, size_t start,
                uint32_t code_page, V1Instance* instance) {
    if (header.name_length == 0) return true;
    if (!SizeIsSound("PERF_INSTANCE_DEFINITION.NameOffset", start,
                     header.name_offset, sizeof header, header.byte_length) ||
        !SizeIsSound("PERF_INSTANCE_DEFINITION.NameLength", start,
                     header.name_length, 0,
                     header.byte_length - header.name_offset)) {
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
    *position = start + block.byte_length;
    return true;
  }

  // Reserves memory once, for at most the elements that the bytes can hold, and
  // at least doubles, so that many small objects take linear time.
  template <typename T>
  static void Reserve(size_t claimed, size_t room, std::vector<T>* array) {
    const size_t wanted = array->size() + std::min(claimed, room);
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

  const absl::string_view bytes_;
  ParsedV1Data& data_;
  size_t end_ = 0;  // of the data
};

template <typename T>
absl::Span<const T> Part(const std::vector<T>& array, const Slice& slice) {
  return absl::MakeConstSpan(array).subspan(slice.begin, slice.count);
}

}  // namespace

const V1Object* ParsedV1Data::FindObject(uint32_t title_index) const {
  for (const V1Object& object : objects) {
    if (object.header.object_name_title_index == title_index) return &object;
  }
  return nullptr;
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
  // A multi timer's size may include its second value.
  const uint32_t size = counter.counter_size >= sizeof(uint64_t)
                            ? sizeof(uint64_t)
                            : counter.counter_size;
  if (offset < sizeof(PerfCounterBlock) || offset > instance.block_size ||
      counter.counter_size > instance.block_size - offset) {
    return {};
  }
  const size_t at = size_t{instance.block_offset} + offset;
  if (size == sizeof(uint64_t)) return {LoadAt<uint64_t>(bytes, at), size};
  if (size == sizeof(uint32_t)) return {LoadAt<uint32_t>(bytes, at), size};
  return {};
}

V1Value ParsedV1Data::SecondValueOf(
    const V1Instance& instance, const PerfCounterDefinition& counter) const {
  constexpr uint32_t kFirst = sizeof(uint64_t);
  const uint32_t offset = counter.counter_offset;
  if (offset < sizeof(PerfCounterBlock) || offset > instance.block_size ||
      instance.block_size - offset < kFirst + sizeof(uint32_t)) {
    return {};
  }
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
  return absl::StrCat(Utf16Name(*parent, parents[instance.parent_position]),
                      absl::string_view("/\0", 2), name);
}

void ParsedV1Data::Clear() {
  bytes = {};
  has_header = false;
  header = {};
  objects.clear();
  counters.clear();
  instances.clear();
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
