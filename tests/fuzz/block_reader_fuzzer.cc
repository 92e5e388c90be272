// Blocks: whatever the bytes are, what is read stays inside them and is no
// larger than they can hold.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "perflib/block_reader.h"
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
      FUZZ_CHECK(block->Name(instance).size() <= 3 * instance.name_size);
    }
  }
  for (const Defect& defect : block->defects) {
    FUZZ_CHECK(defect.offset <= bytes.size());
    FUZZ_CHECK(!defect.ToString().empty());
  }
}

}  // namespace
}  // namespace fleetperf::perflib

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fleetperf::perflib::Check(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
