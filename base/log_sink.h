// The log's destination if no file is configured.

#ifndef FLEETPERF_BASE_LOG_SINK_H_
#define FLEETPERF_BASE_LOG_SINK_H_

#include <spdlog/common.h>

#include <string>

namespace fleetperf {

// Returns standard error. A Windows service has none; there, returns the event
// log under the program's name.
spdlog::sink_ptr MakeDefaultLogSink(const std::string& program);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_LOG_SINK_H_
