#ifndef FLEETPERF_BASE_VERSION_H_
#define FLEETPERF_BASE_VERSION_H_

namespace fleetperf {

inline constexpr char kVersion[] = FLEETPERF_VERSION;

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_VERSION_H_
