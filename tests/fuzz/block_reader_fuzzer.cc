// Fuzzes the block reader. For any bytes, every parsed structure lies within
// the block, and the parsed sizes do not exceed the block's capacity.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <vector>

#include "absl/strings/string_view.h"
#include "perflib/block_reader.h"
#include "perflib/bytes.h"
#include "tests/fuzz/check.h"

namespace fleetperf::perflib {
namespace {

void Check(absl::string_view bytes) {
  static ParsedBlock* const block = new ParsedBlock;  // reused, as agents do
  ReadBlock(bytes, block);
  FUZZ_CHECK(block->values.size() * sizeof(PerfCounterData) <= bytes.size());
  FUZZ_CHECK(block->instances.size() * sizeof(PerfInstanceHeader) <=
             bytes.size());
  FUZZ_CHECK(block->values.size() == block->value_sizes.size());
  FUZZ_CHECK(block->defects.size() <= ParsedBlock::kMaxDefects);
  FUZZ_CHECK(block->has_header || block->results.empty());
  for (const QueryResult& result : block->results) {
    const size_t columns =
        result.counter_ids.count == 0 ? 1 : result.counter_ids.count;
    const size_t rows =
        result.instances.count == 0 ? 1 : result.instances.count;
    FUZZ_CHECK(block->Values(result).size() <= columns * rows);
    FUZZ_CHECK(block->CounterIds(result).size() == result.counter_ids.count);
    for (const InstanceView& instance : block->Instances(result)) {
      // The name and its NUL lie within the block.
      FUZZ_CHECK(instance.name_offset <= bytes.size());
      FUZZ_CHECK(bytes.size() - instance.name_offset >= 2);
      FUZZ_CHECK(instance.name_size <= bytes.size() - instance.name_offset - 2);
      FUZZ_CHECK(block->Name(instance).size() <= 3 * instance.name_size);
    }
  }
  for (const Defect& defect : block->defects) {
    FUZZ_CHECK(defect.offset <= bytes.size());
    FUZZ_CHECK(!defect.ToString().empty());
  }
}

// Locates the size and count fields of a block, as far as its structures can be
// followed.
class FieldFinder {
 public:
  // A structure that contains other structures.
  struct Parent {
    size_t field;  // offset of its size
    size_t start;  // offset of its first byte
  };

  explicit FieldFinder(absl::string_view bytes) : bytes_(bytes) {
    parents.push_back({0, 0});
    Field(0);  // dwTotalSize
    Field(4);  // dwNumCounters
    size_t result = sizeof(PerfDataHeader);
    while (Fits(result, sizeof(PerfCounterHeader))) {
      Field(result + 4);  // dwType
      Field(result + 8);  // dwSize
      parents.push_back({result + 8, result});
      const uint32_t type = Read(result + 4);
      size_t at = result + sizeof(PerfCounterHeader);
      if ((type & 2) != 0) at = Sized(at);  // PERF_MULTI_COUNTERS
      if ((type & 4) != 0) {                // PERF_MULTI_INSTANCES
        Sized(at);
        if (Fits(at, 4)) parents.push_back({at, at});
        at += sizeof(PerfMultiInstances);
      }
      // Instance headers and values both have a size, at different offsets.
      const size_t end = result + Read(result + 8);
      while (at < end && Fits(at, 8)) {
        Field(at);
        Field(at + 4);
        const uint32_t first = Read(at), second = Read(at + 4);
        const bool is_value = first <= 16 && second >= 8 && second <= 64;
        at += std::max<uint32_t>(8, is_value ? second : first);
      }
      result += std::max<uint32_t>(16, Read(result + 8));
    }
  }

  std::vector<size_t> fields;
  std::vector<Parent> parents;

 private:
  bool Fits(size_t at, size_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  uint32_t Read(size_t at) const {
    return Fits(at, 4) ? LoadAt<uint32_t>(bytes_, at) : 0;
  }
  void Field(size_t at) {
    if (Fits(at, 4)) fields.push_back(at);
  }
  // Records a structure that begins with its size and a count. Returns the
  // offset just past it.
  size_t Sized(size_t at) {
    Field(at);
    Field(at + 4);
    return at + std::max<uint32_t>(8, Read(at));
  }

  const absl::string_view bytes_;
};

// Returns a replacement for a size or count: a boundary value, a value slightly
// off the original, or one far too large.
uint32_t Spoiled(uint32_t value, size_t size, std::mt19937& random) {
  const uint32_t whole = static_cast<uint32_t>(size);
  const uint32_t kValues[] = {0,         1,          4,         8,
                              16,        value + 1,  value - 1, value + 8,
                              value - 8, 2 * value,  whole,     whole + 8,
                              0xFFFF,    0x7FFFFFFF, ~0u,       ~7u};
  return kValues[random() % std::size(kValues)];
}

}  // namespace
}  // namespace fleetperf::perflib

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Random changes rarely hit a size or a count, and failed checks of outer
// structures hide the inner ones. Therefore this mutator changes fields,
// truncates the block at a field, and mostly repairs the sizes of the enclosing
// structures.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  using namespace fleetperf::perflib;
  std::mt19937 random(seed);
  if (random() % 2 == 0) size = LLVMFuzzerMutate(data, size, max_size);
  if (size < sizeof(PerfDataHeader)) return size;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const FieldFinder found(bytes);
  for (size_t changes = random() % 3; changes > 0; --changes) {
    const size_t at = found.fields[random() % found.fields.size()];
    const uint32_t value = Spoiled(LoadAt<uint32_t>(bytes, at), size, random);
    std::memcpy(data + at, &value, sizeof value);
  }
  if (random() % 4 == 0) {
    const size_t at = found.fields[random() % found.fields.size()];
    size = std::clamp(at + 8, sizeof(PerfDataHeader), size);
  }
  if (random() % 8 == 0) return size;
  for (const FieldFinder::Parent& parent : found.parents) {
    if (parent.field + 4 > size) continue;
    const uint32_t rest = static_cast<uint32_t>(size - parent.start);
    const bool is_block = parent.field == 0;
    if (is_block || LoadAt<uint32_t>(bytes, parent.field) > rest) {
      std::memcpy(data + parent.field, &rest, sizeof rest);
    }
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::perflib::Check(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
