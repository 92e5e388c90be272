// A source whose calls end in time, whatever the one behind it does.

#ifndef FLEETPERF_AGENT_SOURCE_DEADLINE_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_DEADLINE_SOURCE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/source/source.h"
#include "base/clock.h"

namespace fleetperf::agent {

// PerfLib's calls cannot be cancelled, and one for a machine that is off the
// network hangs for as long as the network's protocols try. So the calls run on
// a thread of this source's own, and the caller waits for `deadline` at most;
// then, and for as long as that call hangs, every call fails as
// DeadlineExceeded or Unavailable. `name` is the machine's, for messages.
std::unique_ptr<Source> MakeDeadlineSource(std::unique_ptr<Source> source,
                                           std::string name,
                                           absl::Duration deadline,
                                           const Clock* clock = &Clock::Real());

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_DEADLINE_SOURCE_H_
