// The log's destination.

#ifndef FLEETPERF_BASE_OS_LOG_SINK_H_
#define FLEETPERF_BASE_OS_LOG_SINK_H_

#include <spdlog/common.h>

#include <string>

#include "absl/status/statusor.h"

namespace fleetperf {

// Returns standard error. A Windows service has none; there, returns the event
// log under the program's name.
spdlog::sink_ptr MakeDefaultLogSink(const std::string& program);

// Returns whether standard error is systemd's journal, which adds time, program
// and process id to each line.
bool StderrIsJournal();

// Converts the path of a log file for spdlog. On Windows, creates the file's
// directory, which spdlog cannot create by a path of this form.
absl::StatusOr<spdlog::filename_t> LogFileName(const std::string& path);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_LOG_SINK_H_
