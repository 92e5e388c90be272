// Countersets for tests of collection.

#ifndef FLEETPERF_TESTS_AGENT_COLLECT_TEST_COUNTERSETS_H_
#define FLEETPERF_TESTS_AGENT_COLLECT_TEST_COUNTERSETS_H_

#include <vector>

#include "perflib/counter_type.h"
#include "perflib/registration.h"

namespace fleetperf::testing {

inline const perflib::Guid kDiskGuid = {.data1 = 0xD};
inline const perflib::Guid kProcessGuid = {.data1 = 0xF};
inline const perflib::Guid kSystemGuid = {.data1 = 0x5};

// Has an average, whose base has no name.
inline perflib::CountersetRegistration DiskRegistration() {
  return {.guid = kDiskGuid,
          .name = "Disk",
          .instance_type = perflib::kCountersetMultipleInstances,
          .counters = {{.counter_id = 1,
                        .type = perflib::kPerfCounterBulkCount,
                        .name = "Reads/sec"},
                       {.counter_id = 2,
                        .type = perflib::kPerfAverageBulk,
                        .base_counter_id = 12,
                        .name = "Avg. Bytes/Read"},
                       {.counter_id = 3,
                        .type = perflib::kPerfCounterBulkCount,
                        .name = "Writes/sec"},
                       {.counter_id = 12, .type = perflib::kPerfAverageBase}}};
}

// Has a start time, and the clock that it refers to.
inline perflib::CountersetRegistration ProcessRegistration() {
  return {.guid = kProcessGuid,
          .name = "Process",
          .instance_type = perflib::kCountersetMultipleInstances,
          .counters = {
              {.counter_id = 1,
               .type = perflib::kPerf100NsecTimer,
               .name = "% Processor Time"},
              {.counter_id = 3,
               .type = perflib::kPerfElapsedTime,
               .perf_time_id = 101,
               .perf_freq_id = 102,
               .name = "Elapsed Time"},
              {.counter_id = 101, .type = perflib::kPerfCounterLargeRawcount},
              {.counter_id = 102, .type = perflib::kPerfCounterLargeRawcount}}};
}

// Without instances.
inline perflib::CountersetRegistration SystemRegistration() {
  return {.guid = kSystemGuid,
          .name = "System",
          .counters = {{.counter_id = 1,
                        .type = perflib::kPerfCounterRawcount,
                        .name = "Processes"},
                       {.counter_id = 2,
                        .type = perflib::kPerfCounterRawcount,
                        .name = "Threads"}}};
}

inline std::vector<perflib::CountersetRegistration> TestRegistrations() {
  return {DiskRegistration(), ProcessRegistration(), SystemRegistration()};
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_COLLECT_TEST_COUNTERSETS_H_
