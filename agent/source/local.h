// This machine's own source.

#ifndef FLEETPERF_AGENT_SOURCE_LOCAL_H_
#define FLEETPERF_AGENT_SOURCE_LOCAL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "agent/source/source.h"

namespace fleetperf::agent {

// `max_open_files` is how many files the process may have open.
absl::StatusOr<std::unique_ptr<Source>> OpenLocalSource(size_t max_open_files);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LOCAL_H_
