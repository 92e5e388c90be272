// Countersets that tests collect.

#ifndef FLEETPERF_TESTS_SUPPORT_COUNTERSETS_H_
#define FLEETPERF_TESTS_SUPPORT_COUNTERSETS_H_

#include "perflib/counter_type.h"
#include "perflib/guid.h"
#include "perflib/registration.h"

namespace fleetperf::testing {

// Counter ids of DiskRegistration().
inline constexpr uint32_t kTransfers = 1;     // a rate
inline constexpr uint32_t kQueueLength = 2;   // a gauge
inline constexpr uint32_t kBytesPerRead = 3;  // bytes by kReads
inline constexpr uint32_t kReads = 4;         // a base, without a name
inline constexpr uint32_t kIdleTime = 5;      // an inverse timer of 100 ns
inline constexpr uint32_t kUpTime = 6;        // (kTime - kUpTime) / kTimeFreq
inline constexpr uint32_t kTime = 7;          // an object's time
inline constexpr uint32_t kTimeFreq = 8;      // the frequency of kTime

// A counterset with instances and a counter for each kind of formula.
inline perflib::CountersetRegistration DiskRegistration() {
  return {
      .guid = *perflib::ParseGuid("{00000000-0000-4000-8000-00000000d15c}"),
      .name = "Disk",
      .instance_type = perflib::kCountersetMultipleInstances,
      .counters = {
          {.counter_id = kTransfers,
           .type = perflib::kPerfCounterBulkCount,
           .name = "Transfers/sec"},
          {.counter_id = kQueueLength,
           .type = perflib::kPerfCounterRawcount,
           .name = "Queue Length"},
          {.counter_id = kBytesPerRead,
           .type = perflib::kPerfAverageBulk,
           .base_counter_id = kReads,
           .name = "Bytes per Read"},
          {.counter_id = kReads, .type = perflib::kPerfAverageBase},
          {.counter_id = kIdleTime,
           .type = perflib::kPerf100NsecTimerInv,
           .name = "% Busy Time"},
          {.counter_id = kUpTime,
           .type = perflib::kPerfElapsedTime,
           .perf_time_id = kTime,
           .perf_freq_id = kTimeFreq,
           .name = "Up Time"},
          {.counter_id = kTime, .type = perflib::kPerfCounterLargeRawcount},
          {.counter_id = kTimeFreq, .type = perflib::kPerfCounterLargeRawcount},
      }};
}

// A counterset without instances: a gauge and a rate.
inline constexpr uint32_t kAvailableBytes = 1;
inline constexpr uint32_t kPageFaults = 2;

inline perflib::CountersetRegistration MemoryRegistration() {
  return {.guid = *perflib::ParseGuid("{00000000-0000-4000-8000-00000000feed}"),
          .name = "Memory",
          .counters = {{.counter_id = kAvailableBytes,
                        .type = perflib::kPerfCounterLargeRawcount,
                        .name = "Available Bytes"},
                       {.counter_id = kPageFaults,
                        .type = perflib::kPerfCounterBulkCount,
                        .name = "Page Faults/sec"}}};
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_COUNTERSETS_H_
