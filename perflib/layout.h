// The structures in the bytes that the PerfLib V2 consumer functions return.
//
// The structures contain no pointers and are the same on 32- and 64-bit
// Windows: little-endian, with naturally aligned fields. Code copies them with
// memcpy from bytes whose bounds it has checked; it never casts. Sizes and
// offsets are asserted against Microsoft's documentation (perflib.h and
// [MS-PCQ]). Comments give the names used there.

#ifndef FLEETPERF_PERFLIB_LAYOUT_H_
#define FLEETPERF_PERFLIB_LAYOUT_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "perflib/guid.h"

namespace fleetperf::perflib {

static_assert(
    std::endian::native == std::endian::little,
    "PerfLib's bytes are little-endian and are copied into these structures");

// PerfLib aligns every structure of a block to this many bytes.
inline constexpr size_t kBlockAlignment = 8;

constexpr size_t AlignUp(size_t size) {
  return (size + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment;
}

// SYSTEMTIME
struct SystemTime {
  uint16_t year, month, day_of_week, day, hour, minute, second, milliseconds;
};
static_assert(sizeof(SystemTime) == 16);

// PERF_DATA_HEADER: the start of a block.
struct PerfDataHeader {
  // dwTotalSize: bytes of the block, this header included.
  uint32_t total_size;
  // dwNumCounters: the number of PERF_COUNTER_HEADER blocks that follow, one
  // per query.
  uint32_t num_counters;
  // PerfTimeStamp: ticks of a monotonic clock.
  int64_t perf_time_stamp;
  // PerfTime100NSec: UTC, 100 ns units since 1601-01-01.
  int64_t perf_time_100nsec;
  // PerfFreq: ticks of PerfTimeStamp per second.
  int64_t perf_freq;
  // SystemTime: the instant of PerfTime100NSec, in UTC.
  SystemTime system_time;
};
static_assert(sizeof(PerfDataHeader) == 48);
static_assert(offsetof(PerfDataHeader, num_counters) == 4);
static_assert(offsetof(PerfDataHeader, perf_time_stamp) == 8);
static_assert(offsetof(PerfDataHeader, perf_time_100nsec) == 16);
static_assert(offsetof(PerfDataHeader, perf_freq) == 24);
static_assert(offsetof(PerfDataHeader, system_time) == 32);

// PerfCounterDataType: the structures that follow a PERF_COUNTER_HEADER.
enum class HeaderType : uint32_t {
  // PERF_ERROR_RETURN: nothing follows; dwStatus is the reason.
  kErrorReturn = 0,
  // PERF_SINGLE_COUNTER: one PERF_COUNTER_DATA.
  kSingleCounter = 1,
  // PERF_MULTIPLE_COUNTERS: PERF_MULTI_COUNTERS, then one PERF_COUNTER_DATA
  // per id.
  kMultipleCounters = 2,
  // PERF_MULTIPLE_INSTANCES: PERF_MULTI_INSTANCES, then per instance a
  // PERF_INSTANCE_HEADER and one PERF_COUNTER_DATA.
  kMultipleInstances = 4,
  // PERF_COUNTERSET: PERF_MULTI_COUNTERS, PERF_MULTI_INSTANCES, then per
  // instance a PERF_INSTANCE_HEADER and one PERF_COUNTER_DATA per id.
  kCounterset = 6,
};

// Whether a PERF_MULTI_COUNTERS follows.
constexpr bool HasCounterIds(HeaderType type) {
  return type == HeaderType::kMultipleCounters ||
         type == HeaderType::kCounterset;
}
// Whether a PERF_MULTI_INSTANCES follows.
constexpr bool HasInstances(HeaderType type) {
  return type == HeaderType::kMultipleInstances ||
         type == HeaderType::kCounterset;
}

// PERF_COUNTER_HEADER: the start of a query's result.
struct PerfCounterHeader {
  uint32_t status;  // dwStatus: a Win32 error code
  uint32_t type;    // dwType: HeaderType
  uint32_t size;    // dwSize: bytes of the result, this header included
  uint32_t reserved;
};
static_assert(sizeof(PerfCounterHeader) == 16);
static_assert(offsetof(PerfCounterHeader, type) == 4);
static_assert(offsetof(PerfCounterHeader, size) == 8);

// PERF_MULTI_COUNTERS: `num_counters` ids of 32 bits follow.
struct PerfMultiCounters {
  uint32_t size;          // dwSize: this structure and the ids
  uint32_t num_counters;  // dwCounters
};
static_assert(sizeof(PerfMultiCounters) == 8);

// PERF_MULTI_INSTANCES: `num_instances` PERF_INSTANCE_HEADERs follow, each
// with its data.
struct PerfMultiInstances {
  uint32_t total_size;     // dwTotalSize: this structure and all instances
  uint32_t num_instances;  // dwInstances
};
static_assert(sizeof(PerfMultiInstances) == 8);

// PERF_INSTANCE_HEADER: a UTF-16 name with its NUL follows, padded to 8 bytes.
struct PerfInstanceHeader {
  uint32_t size;         // Size: this structure, the name and the padding
  uint32_t instance_id;  // InstanceId
};
static_assert(sizeof(PerfInstanceHeader) == 8);

// PERF_COUNTER_DATA: `data_size` bytes follow, padded to 8.
struct PerfCounterData {
  uint32_t data_size;  // dwDataSize: bytes of the value: 4 or 8 for a number
  uint32_t size;       // dwSize: this structure, the value and the padding
};
static_assert(sizeof(PerfCounterData) == 8);

// A PERF_COUNTER_DATA that is a number, with its padding. A number of 4 bytes
// is in the lower half of `value`.
struct PerfCounterNumber {
  PerfCounterData header;
  uint64_t value;
};
static_assert(sizeof(PerfCounterNumber) == 16);

// PERF_COUNTER_IDENTIFIER: one query, as accepted by PerfAddCounters and
// returned by PerfQueryCounterInfo. For a multi-instance counterset, a
// NUL-terminated UTF-16 instance name follows, padded to 8 bytes.
struct PerfCounterIdentifier {
  Guid counterset;       // CounterSetGuid
  uint32_t status;       // Status: a Win32 error code
  uint32_t size;         // Size: this structure, the name and the padding
  uint32_t counter_id;   // CounterId, or kWildcardCounter
  uint32_t instance_id;  // InstanceId, or kWildcardInstanceId
  uint32_t index;        // Index: position of the query's result in a block
  uint32_t reserved;
};
static_assert(sizeof(PerfCounterIdentifier) == 40);
static_assert(offsetof(PerfCounterIdentifier, status) == 16);
static_assert(offsetof(PerfCounterIdentifier, size) == 20);
static_assert(offsetof(PerfCounterIdentifier, counter_id) == 24);
static_assert(offsetof(PerfCounterIdentifier, instance_id) == 28);
static_assert(offsetof(PerfCounterIdentifier, index) == 32);

// PERF_COUNTERSET_REG_INFO: `num_counters` PERF_COUNTER_REG_INFOs follow.
struct PerfCountersetRegInfo {
  Guid counterset;           // CounterSetGuid
  uint32_t counterset_type;  // CounterSetType: always 0
  uint32_t detail_level;     // DetailLevel
  uint32_t num_counters;     // NumCounters
  uint32_t instance_type;    // InstanceType
};
static_assert(sizeof(PerfCountersetRegInfo) == 32);
static_assert(offsetof(PerfCountersetRegInfo, counterset_type) == 16);
static_assert(offsetof(PerfCountersetRegInfo, detail_level) == 20);
static_assert(offsetof(PerfCountersetRegInfo, num_counters) == 24);
static_assert(offsetof(PerfCountersetRegInfo, instance_type) == 28);

// PERF_COUNTER_REG_INFO
struct PerfCounterRegInfo {
  uint32_t counter_id;          // CounterId
  uint32_t type;                // Type
  uint64_t attrib;              // Attrib
  uint32_t detail_level;        // DetailLevel
  int32_t default_scale;        // DefaultScale: a power of ten
  uint32_t base_counter_id;     // BaseCounterId, or kNoCounter
  uint32_t perf_time_id;        // PerfTimeId, or kNoCounter
  uint32_t perf_freq_id;        // PerfFreqId, or kNoCounter
  uint32_t multi_id;            // MultiId, or kNoCounter
  uint32_t aggregate_function;  // AggregateFunc
  uint32_t reserved;
};
static_assert(sizeof(PerfCounterRegInfo) == 48);
static_assert(offsetof(PerfCounterRegInfo, attrib) == 8);
static_assert(offsetof(PerfCounterRegInfo, detail_level) == 16);
static_assert(offsetof(PerfCounterRegInfo, default_scale) == 20);
static_assert(offsetof(PerfCounterRegInfo, base_counter_id) == 24);
static_assert(offsetof(PerfCounterRegInfo, perf_time_id) == 28);
static_assert(offsetof(PerfCounterRegInfo, perf_freq_id) == 32);
static_assert(offsetof(PerfCounterRegInfo, multi_id) == 36);
static_assert(offsetof(PerfCounterRegInfo, aggregate_function) == 40);

// PERF_STRING_BUFFER_HEADER: `num_strings` PERF_STRING_COUNTER_HEADERs follow,
// then the strings.
struct PerfStringBufferHeader {
  uint32_t size;         // dwSize: the whole buffer
  uint32_t num_strings;  // dwCounters
};
static_assert(sizeof(PerfStringBufferHeader) == 8);

// PERF_STRING_COUNTER_HEADER
struct PerfStringCounterHeader {
  uint32_t counter_id;  // dwCounterId
  uint32_t offset;      // dwOffset from the start of the buffer, or kNoString
};
static_assert(sizeof(PerfStringCounterHeader) == 8);

// PERF_WILDCARD_COUNTER, and the same for an instance id.
inline constexpr uint32_t kWildcardCounter = 0xFFFFFFFF;
inline constexpr uint32_t kWildcardInstanceId = 0xFFFFFFFF;
// "None" in a link of a registration, and in a string buffer.
inline constexpr uint32_t kNoCounter = 0xFFFFFFFF;
inline constexpr uint32_t kNoString = 0xFFFFFFFF;

// PERF_MAX_INSTANCE_NAME: UTF-16 units, the NUL included.
inline constexpr size_t kMaxInstanceName = 1024;
// PERF_WILDCARD_INSTANCE and PERF_AGGREGATE_INSTANCE.
inline constexpr char kWildcardInstance[] = "*";
inline constexpr char kAggregateInstance[] = "_Total";

// The bits of PERF_COUNTERSET_REG_INFO.InstanceType:
// PERF_COUNTERSET_FLAG_MULTIPLE and PERF_COUNTERSET_FLAG_AGGREGATE.
inline constexpr uint32_t kCountersetSingleInstance = 0;
inline constexpr uint32_t kCountersetMultipleInstances = 2;
inline constexpr uint32_t kCountersetAggregate = 4;

// PERF_COUNTER_REG_INFO.Attrib
inline constexpr uint64_t kAttribByReference = 0x1;
inline constexpr uint64_t kAttribNoDisplayable = 0x2;
inline constexpr uint64_t kAttribNoGroupSeparator = 0x4;
inline constexpr uint64_t kAttribDisplayAsReal = 0x8;
inline constexpr uint64_t kAttribDisplayAsHex = 0x10;

// PERF_COUNTER_REG_INFO.DetailLevel
inline constexpr uint32_t kDetailNovice = 100;
inline constexpr uint32_t kDetailAdvanced = 200;

// PerfRegInfoType: the information requested from
// PerfQueryCounterSetRegistrationInfo.
enum class RegistrationRequest : uint32_t {
  kCountersetStruct = 1,  // PERF_COUNTERSET_REG_INFO with all its counters
  kCounterStruct = 2,     // one PERF_COUNTER_REG_INFO
  kCountersetName = 3,    // a string, like all singular names and helps
  kCountersetHelp = 4,
  kCounterNames = 5,  // a PERF_STRING_BUFFER_HEADER, like all plurals
  kCounterHelp = 6,
  kProviderName = 7,
  kProviderGuid = 8,  // a GUID
  kCountersetEnglishName = 9,
  kCounterEnglishNames = 10,
};

// Win32 error codes that PerfLib returns or puts into dwStatus.
inline constexpr uint32_t kErrorSuccess = 0;
inline constexpr uint32_t kErrorPathNotFound = 3;
inline constexpr uint32_t kErrorAccessDenied = 5;
inline constexpr uint32_t kErrorNotEnoughMemory = 8;
inline constexpr uint32_t kErrorInvalidData = 13;
inline constexpr uint32_t kErrorInvalidParameter = 87;
inline constexpr uint32_t kErrorAlreadyExists = 183;
inline constexpr uint32_t kErrorNoData = 232;
inline constexpr uint32_t kErrorNotFound = 1168;
// ERROR_WMI_GUID_NOT_FOUND: no such counterset.
inline constexpr uint32_t kErrorGuidNotFound = 4200;
// ERROR_WMI_INSTANCE_NOT_FOUND
inline constexpr uint32_t kErrorInstanceNotFound = 4201;
// ERROR_WMI_ITEMID_NOT_FOUND: no such counter.
inline constexpr uint32_t kErrorItemIdNotFound = 4202;

}  // namespace fleetperf::perflib

#endif  // FLEETPERF_PERFLIB_LAYOUT_H_
