#include <spdlog/sinks/stdout_color_sinks.h>

#include "base/log_sink.h"

namespace fleetperf {

spdlog::sink_ptr MakeDefaultLogSink(const std::string&) {
  return std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
}

}  // namespace fleetperf
