// Macros for functions that return absl::Status. For .cc files only.

#ifndef FLEETPERF_BASE_STATUS_MACROS_H_
#define FLEETPERF_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"

// Returns the status from the enclosing function unless it is OK.
#define RETURN_IF_ERROR(expression)                      \
  do {                                                   \
    absl::Status fleetperf_status = (expression);        \
    if (!fleetperf_status.ok()) return fleetperf_status; \
  } while (false)

// ASSIGN_OR_RETURN(auto text, ReadFile(path));
#define ASSIGN_OR_RETURN(target, expression)                            \
  FLEETPERF_ASSIGN_OR_RETURN(FLEETPERF_CONCAT(fleetperf_or_, __LINE__), \
                             target, expression)
#define FLEETPERF_ASSIGN_OR_RETURN(status_or, target, expression) \
  auto status_or = (expression);                                  \
  if (!status_or.ok()) return std::move(status_or).status();      \
  target = *std::move(status_or)
#define FLEETPERF_CONCAT(a, b) FLEETPERF_CONCAT_INNER(a, b)
#define FLEETPERF_CONCAT_INNER(a, b) a##b

#endif  // FLEETPERF_BASE_STATUS_MACROS_H_
