// Parses arbitrary bytes as data of PerfLib V1 and translates its objects into
// countersets. Whatever the bytes claim, results view only them and are no
// larger than they can hold.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "perflib/utf16.h"
#include "perflib/v1/counterset.h"
#include "perflib/v1/data_reader.h"
#include "perflib/v1/names.h"
#include "tests/fuzz/check.h"

namespace fleetperf::perflib {
namespace {

// Names every object, so that all are translated, and its first counter as one
// that identifies instances.
V1Names NamesOf(const ParsedV1Data& data) {
  std::string table;
  const auto add = [&](uint32_t index, const char* name) {
    table += Utf16FromUtf8(std::to_string(index)) + std::string(2, '\0') +
             Utf16FromUtf8(name) + std::string(2, '\0');
  };
  for (const V1Object& object : data.objects) {
    add(object.header.object_name_title_index, "Name");
    const auto counters = data.Counters(object);
    if (!counters.empty()) {
      add(counters[0].counter_name_title_index, "ID Process");
    }
  }
  V1Names names = V1Names::Read(table);
  FUZZ_CHECK(names.status().ok());
  return names;
}

void CheckInstance(const ParsedV1Data& data, const V1Object& object,
                   const V1Instance& instance) {
  const size_t size = data.bytes.size();
  FUZZ_CHECK(instance.name_offset <= size);
  FUZZ_CHECK(instance.name_size <= size - instance.name_offset);
  FUZZ_CHECK(instance.block_offset <= size);
  FUZZ_CHECK(instance.block_size <= size - instance.block_offset);
  if (!instance.is_sound()) {
    FUZZ_CHECK(!object.complete);
    FUZZ_CHECK(instance.name_size == 0);
    return;
  }
  FUZZ_CHECK(instance.block_size >= sizeof(PerfCounterBlock));
  // The block follows the name and its NUL.
  FUZZ_CHECK(instance.name_size == 0 ||
             instance.name_offset + instance.name_size < instance.block_offset);
  const std::string name = data.Utf16Name(object, instance);
  FUZZ_CHECK(name.size() <= 2 * std::min<size_t>(size, kMaxV1NameLength));
  // A NUL ends a name.
  for (size_t i = 0; i + 2 <= name.size(); i += 2) {
    FUZZ_CHECK(name[i] != 0 || name[i + 1] != 0);
  }
  FUZZ_CHECK(data.Utf16FullName(object, instance).size() <=
             4 * std::min<size_t>(size, kMaxV1NameLength) + 2);
}

// The definitions of a complete object are inside all its blocks.
void CheckDefinitions(const ParsedV1Data& data, const V1Object& object) {
  for (const PerfCounterDefinition& counter : data.Counters(object)) {
    if (counter.counter_size == 0) continue;
    FUZZ_CHECK(counter.counter_offset >= sizeof(PerfCounterBlock));
    for (const V1Instance& instance : data.Instances(object)) {
      FUZZ_CHECK(uint64_t{counter.counter_offset} + counter.counter_size <=
                 instance.block_size);
    }
  }
}

// Values are inside the block of their instance.
void CheckInside(const ParsedV1Data& data, const V1Object& object,
                 const V1Instance& instance, uint32_t id, uint64_t size) {
  if (size == 0 || id >= kV1ObjectTime) return;
  const bool is_second = id >= kV1SecondValue;
  const auto& definition =
      data.Counters(object)[is_second ? id - kV1SecondValue : id];
  FUZZ_CHECK(definition.counter_offset >= sizeof(PerfCounterBlock));
  FUZZ_CHECK(uint64_t{definition.counter_offset} + size +
                 (is_second ? sizeof(uint64_t) : 0) <=
             instance.block_size);
}

void CheckObject(const ParsedV1Data& data, const V1Object& object,
                 const V1Names& names) {
  FUZZ_CHECK(object.header.num_instances >= kNoInstances);
  const auto registration = V1Registration(data, object, names, V1Names());
  if (registration.ok()) {
    // At most a second value for each counter, and the object's clock.
    FUZZ_CHECK(registration->counters.size() <=
               2 * data.Counters(object).size() + 2);
    for (const CounterRegistration& counter : registration->counters) {
      for (const uint32_t link : {counter.base_counter_id, counter.perf_time_id,
                                  counter.perf_freq_id, counter.multi_id}) {
        FUZZ_CHECK(link == kNoCounter ||
                   registration->FindCounter(link) != nullptr);
      }
    }
    FUZZ_CHECK(V1ShapeOf(data, object).Matches(data, object));
    const V1Values values(data, object, *registration);
    for (const V1Instance& instance : data.Instances(object)) {
      values.InstanceId(instance);
      for (const CounterRegistration& counter : registration->counters) {
        const V1Value value = values.Get(instance, counter.counter_id);
        FUZZ_CHECK(value.size == 0 || value.size == 4 || value.size == 8);
        CheckInside(data, object, instance, counter.counter_id, value.size);
      }
    }
  }
  for (const V1Instance& instance : data.Instances(object)) {
    CheckInstance(data, object, instance);
  }
  if (object.complete && object.HasInstances()) {
    FUZZ_CHECK(data.Instances(object).size() ==
               static_cast<uint32_t>(object.header.num_instances));
  }
  if (object.complete) {
    FUZZ_CHECK(data.Counters(object).size() == object.header.num_counters);
    CheckDefinitions(data, object);
  }
}

void CheckData(absl::string_view bytes) {
  ParsedV1Data data;
  ReadV1Data(bytes, &data);
  FUZZ_CHECK(data.has_header || data.objects.empty());
  FUZZ_CHECK(data.has_header || data.defect_count == 1);
  FUZZ_CHECK(data.counters.size() * sizeof(PerfCounterDefinition) <=
             bytes.size());
  FUZZ_CHECK(data.instances.size() * sizeof(PerfCounterBlock) <= bytes.size());
  FUZZ_CHECK(data.counters.capacity() * sizeof(PerfCounterDefinition) <=
             4 * bytes.size() + 4096);
  FUZZ_CHECK(data.instances.capacity() * sizeof(PerfInstanceDefinition) <=
             4 * bytes.size() + 4096);
  if (data.has_header && data.defect_count == 0) {
    FUZZ_CHECK(data.objects.size() == data.header.num_object_types);
  }
  for (const V1Object& object : data.objects) {
    const V1Object* first =
        data.FindObject(object.header.object_name_title_index);
    FUZZ_CHECK(first != nullptr && first <= &object);
  }
  // Values are read for each pair of instance and counter: that many may take
  // long, which is not the reader's cost.
  if (data.counters.size() * data.instances.size() > 1024) return;
  const V1Names names = NamesOf(data);
  for (const V1Object& object : data.objects) CheckObject(data, object, names);
}

}  // namespace
}  // namespace fleetperf::perflib

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fleetperf::perflib;
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                                size - 1);
  if (data[0] % 4 == 0) {
    FUZZ_CHECK(V1Names::Read(bytes).all().size() * 6 <= bytes.size());
  } else {
    CheckData(bytes);
  }
  return 0;
}
