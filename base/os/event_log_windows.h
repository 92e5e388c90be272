// Windows' event log "Application".

#ifndef FLEETPERF_BASE_OS_EVENT_LOG_WINDOWS_H_
#define FLEETPERF_BASE_OS_EVENT_LOG_WINDOWS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace fleetperf {

enum class EventType { kError, kWarning };

// Writes an event of `source`, which Windows shows if the source is registered.
// Errors are ignored: there is no other place to report them.
void WriteEvent(const std::string& source, EventType type,
                absl::string_view message);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_EVENT_LOG_WINDOWS_H_
