// The structures of PerfLib V1: the bytes that RegQueryValueEx returns for
// HKEY_PERFORMANCE_DATA on 64-bit Windows.
//
// Little-endian, with naturally aligned fields. Code copies them with memcpy
// from bytes whose bounds it has checked; it never casts. Source: Microsoft's
// documentation of winperf.h, whose names the comments give. The title pointers
// of winperf.h are 32-bit fields there, and have no meaning.

#ifndef FLEETPERF_PERFLIB_V1_LAYOUT_H_
#define FLEETPERF_PERFLIB_V1_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "perflib/layout.h"

namespace fleetperf::perflib {

// PERF_DATA_BLOCK: the start of the data.
struct PerfDataBlock {
  uint16_t signature[4];       // "PERF"
  uint32_t little_endian;      // LittleEndian: 1
  uint32_t version;            // Version: 1
  uint32_t revision;           // Revision: 1 or more
  uint32_t total_byte_length;  // TotalByteLength: all the data
  uint32_t header_length;      // HeaderLength: offset of the first object
  uint32_t num_object_types;   // NumObjectTypes
  int32_t default_object;      // DefaultObject: a title index
  SystemTime system_time;      // SystemTime, in UTC
  uint32_t padding;
  int64_t perf_time;            // PerfTime: ticks of a monotonic clock
  int64_t perf_freq;            // PerfFreq: ticks of PerfTime per second
  int64_t perf_time_100nsec;    // PerfTime100nSec: UTC, since 1601-01-01
  uint32_t system_name_length;  // SystemNameLength: bytes
  uint32_t system_name_offset;  // SystemNameOffset: from the start
};
static_assert(sizeof(PerfDataBlock) == 88);
static_assert(offsetof(PerfDataBlock, total_byte_length) == 20);
static_assert(offsetof(PerfDataBlock, system_time) == 36);
static_assert(offsetof(PerfDataBlock, perf_time) == 56);
static_assert(offsetof(PerfDataBlock, perf_time_100nsec) == 72);
static_assert(offsetof(PerfDataBlock, system_name_offset) == 84);

// PERF_OBJECT_TYPE: the start of an object.
struct PerfObjectType {
  uint32_t total_byte_length;  // TotalByteLength: offset of the next object
  uint32_t definition_length;  // DefinitionLength: offset of the first
                               // instance, or of the only PERF_COUNTER_BLOCK
  uint32_t header_length;      // HeaderLength: offset of the first definition
  uint32_t object_name_title_index;
  uint32_t object_name_title;
  uint32_t object_help_title_index;
  uint32_t object_help_title;
  uint32_t detail_level;
  uint32_t num_counters;    // NumCounters
  int32_t default_counter;  // DefaultCounter: a position, or -1
  int32_t num_instances;    // NumInstances, or kNoInstances
  uint32_t code_page;       // CodePage of names; 0: UTF-16
  int64_t perf_time;        // PerfTime: ticks of the object's own clock
  int64_t perf_freq;        // PerfFreq: ticks of PerfTime per second
};
static_assert(sizeof(PerfObjectType) == 64);
static_assert(offsetof(PerfObjectType, object_name_title_index) == 12);
static_assert(offsetof(PerfObjectType, num_counters) == 32);
static_assert(offsetof(PerfObjectType, num_instances) == 40);
static_assert(offsetof(PerfObjectType, perf_time) == 48);

// PERF_NO_INSTANCES: the object has one PERF_COUNTER_BLOCK.
inline constexpr int32_t kNoInstances = -1;
// PERF_NO_UNIQUE_ID
inline constexpr int32_t kNoUniqueId = -1;

// PERF_COUNTER_DEFINITION
struct PerfCounterDefinition {
  uint32_t byte_length;  // ByteLength: offset of the next definition
  uint32_t counter_name_title_index;
  uint32_t counter_name_title;
  uint32_t counter_help_title_index;
  uint32_t counter_help_title;
  int32_t default_scale;  // DefaultScale: a power of ten
  uint32_t detail_level;
  uint32_t counter_type;
  uint32_t counter_size;    // CounterSize: bytes
  uint32_t counter_offset;  // CounterOffset in the PERF_COUNTER_BLOCK
};
static_assert(sizeof(PerfCounterDefinition) == 40);
static_assert(offsetof(PerfCounterDefinition, default_scale) == 20);
static_assert(offsetof(PerfCounterDefinition, counter_offset) == 36);

// PERF_INSTANCE_DEFINITION: followed by the name, and then, at ByteLength, by
// the instance's PERF_COUNTER_BLOCK.
struct PerfInstanceDefinition {
  uint32_t byte_length;  // ByteLength: with the name
  uint32_t parent_object_title_index;
  uint32_t parent_object_instance;  // position among the parent's instances
  int32_t unique_id;                // UniqueID, or kNoUniqueId
  uint32_t name_offset;             // NameOffset: from the start
  uint32_t name_length;             // NameLength: bytes, with the NUL
};
static_assert(sizeof(PerfInstanceDefinition) == 24);
static_assert(offsetof(PerfInstanceDefinition, name_length) == 20);

// PERF_COUNTER_BLOCK: the values follow.
struct PerfCounterBlock {
  uint32_t byte_length;  // ByteLength: with the values
};
static_assert(sizeof(PerfCounterBlock) == 4);

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_V1_LAYOUT_H_
