// Builds blocks as Microsoft documents them, independently of perflib's
// BlockWriter and layout.h. All size fields are correct; a test that needs a
// wrong size overwrites it in the result.

#ifndef FLEETPERF_TESTS_SUPPORT_BLOCK_BYTES_H_
#define FLEETPERF_TESTS_SUPPORT_BLOCK_BYTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/support/byte_builder.h"

namespace fleetperf::testing {

// The clocks of every block built here: 2026-09-29 17:32:23.755059 UTC.
inline constexpr int64_t kBlockTimeStamp = 0x0123456789ABCDEF;
inline constexpr int64_t kBlockTime = 134'351'767'437'550'590;
inline constexpr int64_t kBlockFreq = 10'000'000;

inline constexpr uint32_t kError = 0;
inline constexpr uint32_t kSingle = 1;
inline constexpr uint32_t kCounters = 2;
inline constexpr uint32_t kInstances = 4;
inline constexpr uint32_t kSet = 6;

inline uint32_t Size32(absl::string_view bytes) {
  return static_cast<uint32_t>(bytes.size());
}

// PERF_COUNTER_DATA
inline std::string Value(absl::string_view data) {
  const std::string padded = ByteBuilder().Raw(data).PadTo8().Build();
  return ByteBuilder()
      .U32(Size32(data))
      .U32(8 + Size32(padded))
      .Raw(padded)
      .Build();
}
inline std::string Value32(uint32_t value) {
  return Value(ByteBuilder().U32(value).Build());
}
inline std::string Value64(uint64_t value) {
  return Value(ByteBuilder().U64(value).Build());
}

// PERF_MULTI_COUNTERS
inline std::string CounterIds(const std::vector<uint32_t>& ids) {
  ByteBuilder list;
  for (const uint32_t id : ids) list.U32(id);
  const std::string padded = list.PadTo8().Build();
  return ByteBuilder()
      .U32(8 + Size32(padded))
      .U32(static_cast<uint32_t>(ids.size()))
      .Raw(padded)
      .Build();
}

// PERF_INSTANCE_HEADER; the name is given in UTF-16 without NUL.
inline std::string InstanceNamed(absl::string_view utf16, uint32_t id) {
  const std::string name = ByteBuilder().Raw(utf16).U16(0).PadTo8().Build();
  return ByteBuilder().U32(8 + Size32(name)).U32(id).Raw(name).Build();
}
inline std::string Instance(absl::string_view ascii, uint32_t id) {
  return InstanceNamed(Utf16(ascii), id);
}

// PERF_MULTI_INSTANCES with its instances and their values.
inline std::string InstanceList(uint32_t count, absl::string_view instances) {
  return ByteBuilder()
      .U32(8 + Size32(instances))
      .U32(count)
      .Raw(instances)
      .Build();
}

// PERF_COUNTER_HEADER followed by `body`.
inline std::string Result(uint32_t type, absl::string_view body,
                          uint32_t status = 0) {
  return ByteBuilder()
      .U32(status)
      .U32(type)
      .U32(16 + Size32(body))
      .U32(0)
      .Raw(body)
      .Build();
}

// PERF_DATA_HEADER followed by the results.
inline std::string Block(const std::vector<std::string>& results) {
  ByteBuilder body;
  for (const std::string& result : results) body.Raw(result);
  ByteBuilder block;
  block.U32(48 + Size32(body.Build()))
      .U32(static_cast<uint32_t>(results.size()))
      .I64(kBlockTimeStamp)
      .I64(kBlockTime)
      .I64(kBlockFreq);
  for (const uint16_t field : {2026, 9, 2, 29, 17, 32, 23, 755})
    block.U16(field);
  return block.Raw(body.Build()).Build();
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_BLOCK_BYTES_H_
