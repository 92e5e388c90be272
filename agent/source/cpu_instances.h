// The ids of instances in countersets with an instance per CPU. A CPU's id is
// its number; the others follow the highest CPU number of any kernel.

#ifndef FLEETPERF_AGENT_SOURCE_CPU_INSTANCES_H_
#define FLEETPERF_AGENT_SOURCE_CPU_INSTANCES_H_

#include <cstdint>

namespace fleetperf::agent {

inline constexpr uint32_t kNodeTotalInstanceId = 0x10000;  // + node's number
inline constexpr uint32_t kTotalInstanceId = 0x20000;

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_CPU_INSTANCES_H_
