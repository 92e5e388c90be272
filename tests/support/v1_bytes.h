// Builds the data and name tables of PerfLib V1 as Microsoft documents them,
// independently of perflib's layout.h. All size fields are correct; a test that
// needs a wrong size overwrites it in the result.

#ifndef FLEETPERF_TESTS_SUPPORT_V1_BYTES_H_
#define FLEETPERF_TESTS_SUPPORT_V1_BYTES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "perflib/utf16.h"
#include "tests/support/byte_builder.h"

namespace fleetperf::testing {

// PERF_COUNTER_DEFINITION
struct V1CounterBytes {
  uint32_t name_index = 0;
  uint32_t type = 0;
  uint32_t size = 8;  // of the value; 12: a multi timer with its second value
  uint32_t help_index = 0;
  int32_t scale = 0;
  uint32_t detail_level = 100;
};

// PERF_INSTANCE_DEFINITION and its PERF_COUNTER_BLOCK
struct V1InstanceBytes {
  std::string name;              // UTF-8; without a code page, sent as UTF-16
  std::vector<uint64_t> values;  // by counter; of 12 bytes, two
  uint32_t parent_index = 0;
  uint32_t parent_position = 0;
  int32_t unique_id = -1;
};

// PERF_OBJECT_TYPE with everything that it contains
struct V1ObjectBytes {
  uint32_t name_index = 0;
  std::vector<V1CounterBytes> counters;
  std::vector<V1InstanceBytes> instances;
  bool has_instances = true;  // false: the first instance is the only block
  uint32_t help_index = 0;
  uint32_t code_page = 0;
  int64_t perf_time = 0;
  int64_t perf_freq = 0;
  uint32_t detail_level = 100;
};

struct V1Clocks {
  int64_t perf_time = 0;
  int64_t perf_freq = 10'000'000;
  int64_t perf_time_100nsec = 0;
};

namespace v1_bytes {

inline constexpr uint32_t kDataBlockSize = 88;
inline constexpr uint32_t kObjectSize = 64;
inline constexpr uint32_t kDefinitionSize = 40;
inline constexpr uint32_t kInstanceSize = 24;

inline uint32_t Size(const std::string& bytes) {
  return static_cast<uint32_t>(bytes.size());
}

// PERF_COUNTER_BLOCK: the values follow its size without gaps, as is usual.
inline std::string CounterBlock(const std::vector<V1CounterBytes>& counters,
                                const std::vector<uint64_t>& values) {
  ByteBuilder data;
  size_t next = 0;
  const auto value = [&] { return next < values.size() ? values[next++] : 0; };
  for (const V1CounterBytes& counter : counters) {
    if (counter.size >= 8) data.U64(value());
    if (counter.size == 4 || counter.size == 12) {
      data.U32(static_cast<uint32_t>(value()));
    }
  }
  std::string bytes = data.Build();
  while ((bytes.size() + 4) % 8 != 0) bytes += '\0';
  return ByteBuilder().U32(4 + Size(bytes)).Raw(bytes).Build();
}

inline std::string Instance(const V1ObjectBytes& object,
                            const V1InstanceBytes& instance) {
  std::string name =
      object.code_page == 0
          ? perflib::Utf16FromUtf8(instance.name) + std::string(2, '\0')
          : instance.name + '\0';
  const uint32_t length = Size(name);
  while ((kInstanceSize + name.size()) % 8 != 0) name += '\0';
  return ByteBuilder()
             .U32(kInstanceSize + Size(name))
             .U32(instance.parent_index)
             .U32(instance.parent_position)
             .U32(static_cast<uint32_t>(instance.unique_id))
             .U32(kInstanceSize)
             .U32(length)
             .Raw(name)
             .Build() +
         CounterBlock(object.counters, instance.values);
}

}  // namespace v1_bytes

inline std::string MakeV1Object(const V1ObjectBytes& object) {
  ByteBuilder definitions;
  uint32_t offset = 4;
  for (const V1CounterBytes& counter : object.counters) {
    definitions.U32(v1_bytes::kDefinitionSize)
        .U32(counter.name_index)
        .U32(0)
        .U32(counter.help_index)
        .U32(0)
        .U32(static_cast<uint32_t>(counter.scale))
        .U32(counter.detail_level)
        .U32(counter.type)
        .U32(counter.size)
        .U32(offset);
    offset += counter.size;
  }
  std::string instances;
  if (object.has_instances) {
    for (const V1InstanceBytes& instance : object.instances) {
      instances += v1_bytes::Instance(object, instance);
    }
  } else {
    instances = v1_bytes::CounterBlock(
        object.counters, object.instances.empty() ? std::vector<uint64_t>()
                                                  : object.instances[0].values);
  }
  const std::string body = definitions.Build();
  const uint32_t definition_length =
      v1_bytes::kObjectSize + v1_bytes::Size(body);
  return ByteBuilder()
      .U32(definition_length + v1_bytes::Size(instances))
      .U32(definition_length)
      .U32(v1_bytes::kObjectSize)
      .U32(object.name_index)
      .U32(0)
      .U32(object.help_index)
      .U32(0)
      .U32(object.detail_level)
      .U32(static_cast<uint32_t>(object.counters.size()))
      .U32(0)
      .U32(object.has_instances ? static_cast<uint32_t>(object.instances.size())
                                : 0xFFFFFFFF)
      .U32(object.code_page)
      .I64(object.perf_time)
      .I64(object.perf_freq)
      .Raw(body)
      .Raw(instances)
      .Build();
}

// PERF_DATA_BLOCK with `objects`, which MakeV1Object returns.
inline std::string V1Data(const V1Clocks& clocks,
                          const std::vector<std::string>& objects,
                          const std::string& host = "HOST") {
  const std::string name = Utf16(host) + std::string(2, '\0');
  const std::string padded = ByteBuilder().Raw(name).PadTo8().Build();
  const uint32_t header = v1_bytes::kDataBlockSize + v1_bytes::Size(padded);
  std::string all;
  for (const std::string& object : objects) all += object;
  ByteBuilder block;
  block.Ascii("PERF").U32(1).U32(1).U32(1).U32(header + v1_bytes::Size(all));
  block.U32(header).U32(static_cast<uint32_t>(objects.size())).U32(0xFFFFFFFF);
  for (int i = 0; i < 8; ++i) block.U16(0);  // SystemTime
  block.U32(0).I64(clocks.perf_time).I64(clocks.perf_freq);
  block.I64(clocks.perf_time_100nsec).U32(v1_bytes::Size(name));
  return block.U32(v1_bytes::kDataBlockSize).Raw(padded).Raw(all).Build();
}

// What Wine 8.0 returns: objects begin at HeaderLength + 88, and
// TotalByteLength leaves these 88 bytes out. `gap` fills them.
inline std::string WineV1Data(const std::vector<std::string>& objects,
                              char gap) {
  std::string bytes = V1Data({1, 2, 3}, objects, "box");
  constexpr size_t kWineHeader = 96;
  if (!objects.empty()) {
    bytes.insert(kWineHeader, std::string(v1_bytes::kDataBlockSize, gap));
  }
  return bytes;
}

// The value "Counter 009" of Wine.
inline std::string WineV1NameTable() {
  const std::string nul(2, '\0');
  return Utf16("1") + nul + Utf16("1847") + nul + Utf16("1846") + nul +
         Utf16("End Marker") + nul + nul;
}

// The value "Counter 009": a REG_MULTI_SZ.
inline std::string V1NameTable(const std::map<uint32_t, std::string>& names) {
  std::string table =
      Utf16("1") + std::string(2, '\0') + Utf16("1847") + std::string(2, '\0');
  for (const auto& [index, name] : names) {
    table += Utf16(std::to_string(index)) + std::string(2, '\0') +
             perflib::Utf16FromUtf8(name) + std::string(2, '\0');
  }
  return table + std::string(2, '\0');
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_V1_BYTES_H_
