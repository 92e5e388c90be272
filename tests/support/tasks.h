// A counterset of tasks, which start and end like processes.

#ifndef FLEETPERF_TESTS_SUPPORT_TASKS_H_
#define FLEETPERF_TESTS_SUPPORT_TASKS_H_

#include <cstdint>

#include "perflib/counter_type.h"
#include "perflib/guid.h"
#include "perflib/registration.h"

namespace fleetperf::testing {

// Counter ids of TaskRegistration().
inline constexpr uint32_t kTaskTime = 1;    // a timer of 100 ns
inline constexpr uint32_t kTaskBytes = 2;   // a gauge
inline constexpr uint32_t kTaskFaults = 3;  // a delta

// The growth of kTaskTime in a second in which a task uses one processor.
inline constexpr int64_t kCpuSecond = 10'000'000;

inline perflib::CountersetRegistration TaskRegistration() {
  return {.guid = *perflib::ParseGuid("{00000000-0000-4000-8000-0000000007a5}"),
          .name = "Task",
          .instance_type = perflib::kCountersetMultipleInstances,
          .counters = {{.counter_id = kTaskTime,
                        .type = perflib::kPerf100NsecTimer,
                        .name = "% Time"},
                       {.counter_id = kTaskBytes,
                        .type = perflib::kPerfCounterLargeRawcount,
                        .name = "Bytes"},
                       {.counter_id = kTaskFaults,
                        .type = perflib::kPerfCounterLargeDelta,
                        .name = "Faults"}}};
}

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_SUPPORT_TASKS_H_
