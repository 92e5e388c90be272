#include "perflib/block_reader.h"

#include <algorithm>

#include "perflib/bytes.h"
#include "perflib/utf16.h"

namespace fleetperf::perflib {
namespace {

using Problem = Defect::Problem;

// Walks a block with a position and, for each structure, the end of its parent.
// `end - position` never underflows, because the position only advances by
// sizes checked against it.
class Reader {
 public:
  Reader(absl::string_view bytes, ParsedBlock* block)
      : bytes_(bytes), block_(*block) {}

  void Read() {
    if (!ReadDataHeader()) return;
    position_ = sizeof(PerfDataHeader);
    for (uint32_t i = 0; i < block_.header.num_counters; ++i) {
      if (!ReadResult()) return;
    }
    WarnIfUnused("PERF_DATA_HEADER.dwTotalSize", 0, end_);
  }

 private:
  bool ReadDataHeader() {
    if (bytes_.size() < sizeof(PerfDataHeader)) {
      return Reject(Problem::kTruncated, "PERF_DATA_HEADER", 0,
                    sizeof(PerfDataHeader), bytes_.size());
    }
    block_.header = LoadAt<PerfDataHeader>(bytes_, 0);
    const uint32_t total = block_.header.total_size;
    if (total < sizeof(PerfDataHeader)) {
      return Reject(Problem::kTooSmall, "PERF_DATA_HEADER.dwTotalSize", 0,
                    total, sizeof(PerfDataHeader));
    }
    if (total > bytes_.size()) {
      return Reject(Problem::kTooLarge, "PERF_DATA_HEADER.dwTotalSize", 0,
                    total, bytes_.size());
    }
    WarnIfUnaligned("PERF_DATA_HEADER.dwTotalSize", 0, total);
    end_ = total;
    block_.has_header = true;
    return true;
  }

  // Parses the result at position_ and advances past it. Returns false if the
  // position of the next result is uncertain.
  bool ReadResult() {
    const size_t start = position_;
    if (!Holds<PerfCounterHeader>("PERF_COUNTER_HEADER", end_)) return false;
    const auto header = LoadAt<PerfCounterHeader>(bytes_, start);
    if (!SizeIsSound("PERF_COUNTER_HEADER.dwSize", header.size, sizeof header,
                     end_))
      return false;

    QueryResult& result = block_.results.emplace_back();
    result.offset = static_cast<uint32_t>(start);
    result.status = header.status;
    result.type = static_cast<HeaderType>(header.type);
    result.counter_ids.begin = static_cast<uint32_t>(block_.counter_ids.size());
    result.instances.begin = static_cast<uint32_t>(block_.instances.size());
    result.values.begin = static_cast<uint32_t>(block_.values.size());

    const size_t result_end = start + header.size;
    position_ = start + sizeof header;
    result.complete = ReadBody(header, start, result_end);
    if (result.complete) {
      WarnIfUnused("PERF_COUNTER_HEADER.dwSize", start, result_end);
    }

    result.counter_ids.count =
        static_cast<uint32_t>(block_.counter_ids.size()) -
        result.counter_ids.begin;
    result.instances.count =
        static_cast<uint32_t>(block_.instances.size()) - result.instances.begin;
    result.values.count =
        static_cast<uint32_t>(block_.values.size()) - result.values.begin;
    position_ = result_end;
    return true;
  }

  // Parses the body after a PERF_COUNTER_HEADER. Returns false if parsing
  // stopped before its end.
  bool ReadBody(const PerfCounterHeader& header, size_t start, size_t end) {
    uint32_t num_counters = 1;
    switch (static_cast<HeaderType>(header.type)) {
      case HeaderType::kErrorReturn:
        return true;
      case HeaderType::kSingleCounter:
        return ReadValues(1, end);
      case HeaderType::kMultipleCounters:
        return ReadCounterIds(end, &num_counters) &&
               ReadValues(num_counters, end);
      case HeaderType::kMultipleInstances:
        return ReadInstances(num_counters, end);
      case HeaderType::kCounterset:
        return ReadCounterIds(end, &num_counters) &&
               ReadInstances(num_counters, end);
    }
    return Reject(Problem::kUnknown, "PERF_COUNTER_HEADER.dwType", start,
                  header.type, 0);
  }

  bool ReadCounterIds(size_t end, uint32_t* count) {
    const size_t start = position_;
    if (!Holds<PerfMultiCounters>("PERF_MULTI_COUNTERS", end)) return false;
    const auto list = LoadAt<PerfMultiCounters>(bytes_, start);
    if (!SizeIsSound("PERF_MULTI_COUNTERS.dwSize", list.size, sizeof list, end))
      return false;
    const size_t room = (list.size - sizeof list) / sizeof(uint32_t);
    if (list.num_counters > room) {
      return Reject(Problem::kTooLarge, "PERF_MULTI_COUNTERS.dwCounters", start,
                    list.num_counters, room);
    }
    // One id of padding makes the number even; more is unusual.
    if (room - list.num_counters > 1) {
      Warn(Problem::kUnused, "PERF_MULTI_COUNTERS.dwSize", start,
           (room - list.num_counters) * sizeof(uint32_t), 0);
    }
    if (list.num_counters != 0) {
      const size_t begin = block_.counter_ids.size();
      block_.counter_ids.resize(begin + list.num_counters);
      std::memcpy(block_.counter_ids.data() + begin,
                  bytes_.data() + start + sizeof list,
                  list.num_counters * sizeof(uint32_t));
    }
    *count = list.num_counters;
    position_ = start + list.size;
    return true;
  }

  bool ReadInstances(uint32_t num_counters, size_t end) {
    const size_t start = position_;
    if (!Holds<PerfMultiInstances>("PERF_MULTI_INSTANCES", end)) return false;
    const auto list = LoadAt<PerfMultiInstances>(bytes_, start);
    if (list.total_size < sizeof list) {
      return Reject(Problem::kTooSmall, "PERF_MULTI_INSTANCES.dwTotalSize",
                    start, list.total_size, sizeof list);
    }
    if (list.total_size > end - start) {
      return Reject(Problem::kTooLarge, "PERF_MULTI_INSTANCES.dwTotalSize",
                    start, list.total_size, end - start);
    }
    const size_t list_end = start + list.total_size;
    position_ = start + sizeof list;
    ReserveInstances(list.num_instances, num_counters, list_end - position_);
    for (uint32_t i = 0; i < list.num_instances; ++i) {
      if (!ReadInstanceHeader(list_end) || !ReadValues(num_counters, list_end))
        return false;
    }
    WarnIfUnused("PERF_MULTI_INSTANCES.dwTotalSize", start, list_end);
    position_ = list_end;
    return true;
  }

  // Reserves memory once, for at most the instances that the bytes can hold,
  // whatever the counts claim.
  void ReserveInstances(size_t num_instances, size_t num_counters,
                        size_t room) {
    const size_t instances =
        std::min(num_instances, room / sizeof(PerfInstanceHeader));
    const size_t values =
        std::min(instances * num_counters, room / sizeof(PerfCounterData));
    Reserve(instances, &block_.instances);
    Reserve(values, &block_.values);
    Reserve(values, &block_.value_sizes);
  }

  template <typename T>
  static void Reserve(size_t more, std::vector<T>* array) {
    const size_t wanted = array->size() + more;
    // At least doubles, so that many small results take linear time.
    if (wanted > array->capacity())
      array->reserve(std::max(wanted, 2 * array->capacity()));
  }

  bool ReadInstanceHeader(size_t end) {
    const size_t start = position_;
    if (!Holds<PerfInstanceHeader>("PERF_INSTANCE_HEADER", end)) return false;
    const auto header = LoadAt<PerfInstanceHeader>(bytes_, start);
    if (!SizeIsSound("PERF_INSTANCE_HEADER.Size", header.size, sizeof header,
                     end))
      return false;
    const absl::string_view field =
        bytes_.substr(start + sizeof header, header.size - sizeof header);
    const size_t name_size = TerminatedUtf16Length(field);
    if (name_size == absl::string_view::npos) {
      return Reject(Problem::kUnterminated, "PERF_INSTANCE_HEADER's name",
                    start, 0, field.size());
    }
    block_.instances.push_back(
        {.instance_id = header.instance_id,
         .name_offset = static_cast<uint32_t>(start + sizeof header),
         .name_size = static_cast<uint32_t>(name_size)});
    position_ = start + header.size;
    return true;
  }

  bool ReadValues(uint32_t count, size_t end) {
    // At most the values that the bytes can hold, whatever the count claims.
    const size_t room =
        std::min<size_t>(count, (end - position_) / sizeof(PerfCounterData));
    const size_t begin = block_.values.size();
    block_.values.resize(begin + room);
    block_.value_sizes.resize(begin + room);
    uint64_t* const values = block_.values.data() + begin;
    uint32_t* const sizes = block_.value_sizes.data() + begin;
    size_t read = 0;
    for (;;) {
      read += ReadNumbers(end, room - read, values + read, sizes + read);
      if (read == room || !ReadValue(end, &values[read], &sizes[read])) break;
      ++read;
    }
    if (read == count) return true;
    block_.values.resize(begin + read);
    block_.value_sizes.resize(begin + read);
    // Parsing stopped at a defect, or no header fits in the remaining bytes.
    return read == room && Holds<PerfCounterData>("PERF_COUNTER_DATA", end);
  }

  // Parses values as long as they are numbers in the usual layout, at most
  // `most`, and returns their number. The fast path for nearly all values.
  size_t ReadNumbers(size_t end, size_t most, uint64_t* values,
                     uint32_t* sizes) {
    const size_t whole = (end - position_) / sizeof(PerfCounterNumber);
    const char* const first = bytes_.data() + position_;
    size_t read = 0;
    for (; read < std::min(most, whole); ++read) {
      PerfCounterNumber number;
      std::memcpy(&number, first + read * sizeof number, sizeof number);
      if (number.header.size != sizeof number) break;
      if (number.header.data_size == sizeof(uint64_t)) {
        values[read] = number.value;
      } else if (number.header.data_size == sizeof(uint32_t)) {
        values[read] = static_cast<uint32_t>(number.value);
      } else {
        break;
      }
      sizes[read] = number.header.data_size;
    }
    position_ += read * sizeof(PerfCounterNumber);
    return read;
  }

  bool ReadValue(size_t end, uint64_t* value, uint32_t* value_size) {
    const size_t start = position_;
    if (!Holds<PerfCounterData>("PERF_COUNTER_DATA", end)) return false;
    const auto data = LoadAt<PerfCounterData>(bytes_, start);
    if (!SizeIsSound("PERF_COUNTER_DATA.dwSize", data.size, sizeof data, end))
      return false;
    const size_t room = data.size - sizeof data;
    *value_size = data.data_size;
    *value = 0;
    if (data.data_size > room) {
      Reject(Problem::kTooLarge, "PERF_COUNTER_DATA.dwDataSize", start,
             data.data_size, room);
      *value_size = kRejectedValue;
    } else if (data.data_size == sizeof(uint64_t)) {
      *value = LoadAt<uint64_t>(bytes_, start + sizeof data);
    } else if (data.data_size == sizeof(uint32_t)) {
      *value = LoadAt<uint32_t>(bytes_, start + sizeof data);
    }
    position_ = start + data.size;
    return true;
  }

  // Whether a T at position_ fits into the parent that ends at `end`.
  template <typename T>
  bool Holds(absl::string_view structure, size_t end) {
    const size_t rest = end - position_;
    return rest >= sizeof(T) ||
           Reject(Problem::kTruncated, structure, position_, sizeof(T), rest);
  }

  // Whether a structure at position_ can have `size` bytes inside the parent
  // that ends at `end`.
  bool SizeIsSound(absl::string_view field, size_t size, size_t least,
                   size_t end) {
    if (size < least)
      return Reject(Problem::kTooSmall, field, position_, size, least);
    const size_t rest = end - position_;
    if (size > rest)
      return Reject(Problem::kTooLarge, field, position_, size, rest);
    WarnIfUnaligned(field, position_, size);
    return true;
  }

  bool Reject(Problem problem, absl::string_view what, size_t offset,
              uint64_t value, uint64_t limit) {
    ++block_.defect_count;
    if (block_.defects.size() < ParsedBlock::kMaxDefects) {
      block_.defects.push_back({problem, what, offset, value, limit});
    }
    return false;
  }

  void WarnIfUnaligned(absl::string_view field, size_t offset, size_t size) {
    if (size % kBlockAlignment == 0) return;
    Warn(Problem::kUnaligned, field, offset, size, kBlockAlignment);
  }

  // Warns if the structure at `offset` ends at `end`, after the parsed bytes.
  void WarnIfUnused(absl::string_view field, size_t offset, size_t end) {
    if (position_ == end) return;
    Warn(Problem::kUnused, field, offset, end - position_, 0);
  }

  void Warn(Problem problem, absl::string_view what, size_t offset,
            uint64_t value, uint64_t limit) {
    ++block_.warning_count;
    if (block_.warnings.size() < ParsedBlock::kMaxDefects) {
      block_.warnings.push_back({problem, what, offset, value, limit});
    }
  }

  const absl::string_view bytes_;
  ParsedBlock& block_;
  size_t position_ = 0;
  size_t end_ = 0;  // of the block
};

template <typename T>
absl::Span<const T> Part(const std::vector<T>& array, const Slice& slice) {
  return absl::MakeConstSpan(array).subspan(slice.begin, slice.count);
}

}  // namespace

absl::Span<const uint32_t> ParsedBlock::CounterIds(
    const QueryResult& result) const {
  return Part(counter_ids, result.counter_ids);
}

absl::Span<const InstanceView> ParsedBlock::Instances(
    const QueryResult& result) const {
  return Part(instances, result.instances);
}

absl::Span<const uint64_t> ParsedBlock::Values(
    const QueryResult& result) const {
  return Part(values, result.values);
}

absl::Span<const uint32_t> ParsedBlock::ValueSizes(
    const QueryResult& result) const {
  return Part(value_sizes, result.values);
}

absl::string_view ParsedBlock::NameBytes(const InstanceView& instance) const {
  return bytes.substr(instance.name_offset, instance.name_size);
}

std::string ParsedBlock::Name(const InstanceView& instance) const {
  return Utf8FromUtf16(NameBytes(instance));
}

void ParsedBlock::Clear() {
  bytes = {};
  has_header = false;
  header = {};
  results.clear();
  counter_ids.clear();
  instances.clear();
  values.clear();
  value_sizes.clear();
  defects.clear();
  defect_count = 0;
  warnings.clear();
  warning_count = 0;
}

void ReadBlock(absl::string_view bytes, ParsedBlock* block) {
  block->Clear();
  block->bytes = bytes;
  Reader(bytes, block).Read();
}

}  // namespace fleetperf::perflib
