// A source over PerfLib V1: HKEY_PERFORMANCE_DATA of this machine or a remote
// one.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_SOURCE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/source/source.h"
#include "agent/source/windows/v1/performance_data.h"
#include "base/os/clock.h"

namespace fleetperf::agent {

// The list of countersets is read in the background, at the first enumeration
// and at those ten minutes after. EnumerateCounterSet returns the last list;
// the first time, it waits for it, at most `patience`.
//
// Each query handle opens data of its own, so that a provider that hangs harms
// only the queries of its handle. `clock` must outlive the source and its
// handles. `language` is that of V1Catalogue.
std::unique_ptr<Source> MakeV1Source(OpenPerformanceData open,
                                     absl::Duration patience,
                                     const Clock* clock = &Clock::Real(),
                                     std::string language = "");

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_V1_V1_SOURCE_H_
