// Parses the data of PerfLib V1: the bytes that RegQueryValueEx returns for
// HKEY_PERFORMANCE_DATA.
//
// The data is untrusted: its sizes come from providers' DLLs. The invariants
// are those of perflib/block_reader.h.

#ifndef FLEETPERF_PERFLIB_V1_DATA_READER_H_
#define FLEETPERF_PERFLIB_V1_DATA_READER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "perflib/block_reader.h"
#include "perflib/clocks.h"
#include "perflib/defect.h"
#include "perflib/v1/layout.h"

namespace fleetperf::perflib {

// The largest PERF_INSTANCE_DEFINITION.NameLength. Windows' longest names have
// 1024 characters.
inline constexpr uint32_t kMaxV1NameLength = 4096;

// An object, in the order of the data.
struct V1Object {
  uint32_t offset = 0;  // of its PERF_OBJECT_TYPE
  PerfObjectType header = {};
  // Whether the object was parsed to its end, all its instances are present and
  // sound, and the values of all its definitions are inside their blocks.
  bool complete = false;
  Slice counters;
  // An object with kNoInstances has one nameless instance.
  Slice instances;

  bool HasInstances() const { return header.num_instances != kNoInstances; }
};

struct V1Instance {
  // The parent's title index, or 0, and the position among its instances.
  uint32_t parent_title_index = 0;
  uint32_t parent_position = 0;
  int32_t unique_id = kNoUniqueId;
  uint32_t name_offset = 0;  // from the start of the data
  uint32_t name_size = 0;    // in bytes, without the NUL
  // Its PERF_COUNTER_BLOCK.
  uint32_t block_offset = 0;
  uint32_t block_size = 0;

  // False: the name was rejected. All fields are empty; the instance only keeps
  // its position, for those whose parent it is.
  bool is_sound() const { return block_size != 0; }
};

// Size 4 or 8; 0 if there is no number.
struct V1Value {
  uint64_t value = 0;
  uint32_t size = 0;
};

// The data as flat arrays. Reusing an object avoids allocations in the steady
// state. Views the parsed bytes, which must outlive it. Thread-compatible.
class ParsedV1Data {
 public:
  absl::string_view bytes;
  bool has_header = false;  // false: nothing could be parsed
  PerfDataBlock header = {};
  std::vector<V1Object> objects;
  std::vector<PerfCounterDefinition> counters;
  std::vector<V1Instance> instances;
  // The position in `objects` by title index: of equal ones, the first.
  absl::flat_hash_map<uint32_t, uint32_t> object_positions;

  // As in ParsedBlock.
  static constexpr size_t kMaxDefects = ParsedBlock::kMaxDefects;
  std::vector<Defect> defects;
  uint64_t defect_count = 0;
  std::vector<Defect> warnings;
  uint64_t warning_count = 0;

  Clocks clocks() const {
    return {header.perf_time, header.perf_time_100nsec, header.perf_freq};
  }

  // Returns null if there is no such object.
  const V1Object* FindObject(uint32_t title_index) const;

  absl::Span<const PerfCounterDefinition> Counters(
      const V1Object& object) const;
  absl::Span<const V1Instance> Instances(const V1Object& object) const;

  // Returns the number of CounterSize bytes at CounterOffset, or none if they
  // are not inside the instance's block or not 4 or 8. The 12 bytes of a multi
  // timer begin with a number of 8.
  V1Value ValueOf(const V1Instance& instance,
                  const PerfCounterDefinition& counter) const;
  // Returns the u32 behind the 8 bytes of a multi timer: its number of
  // instances.
  V1Value SecondValueOf(const V1Instance& instance,
                        const PerfCounterDefinition& counter) const;

  // Returns the instance's name in UTF-16, without the parent's, in at most
  // twice kMaxV1NameLength bytes. Names in a code page are converted as by
  // Utf16FromCodePage.
  std::string Utf16Name(const V1Object& object,
                        const V1Instance& instance) const;
  // Returns "parent/child" in UTF-16, or the bare name if there is no parent,
  // or the named one is not in the data, or its name was rejected.
  std::string Utf16FullName(const V1Object& object,
                            const V1Instance& instance) const;

  // Clears the arrays but keeps their memory.
  void Clear();
};

// Parses `bytes` into `data`, replacing its contents. Rejected structures are
// listed in `data->defects`; parsing continues at the next sibling whose
// position is certain. Definitions that reach beyond a counter block are
// rejected once per object: the one that reaches farthest, beyond the smallest
// block. Memory is bounded by a small multiple of bytes.size(), and time is
// linear in it. Results made of the data may be much larger: definitions may
// overlap, and many instances may name one parent.
void ReadV1Data(absl::string_view bytes, ParsedV1Data* data);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_V1_DATA_READER_H_
