// A source whose calls return in time, even if the source behind it hangs.

#ifndef FLEETPERF_AGENT_SOURCE_DEADLINE_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_DEADLINE_SOURCE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/source/source.h"
#include "base/os/clock.h"

namespace fleetperf::agent {

// PerfLib calls cannot be cancelled, and a call to an unreachable machine hangs
// until the network protocols time out. Calls therefore run on threads owned by
// this source, and the caller waits at most `deadline`: one thread for each
// query handle, one for each counterset whose instances are being listed (kept
// only while the call hangs), and one for all other calls. A call that misses
// the deadline fails with DeadlineExceeded; until it returns, every other call
// of its thread fails with DeadlineExceeded or Unavailable. If the system does
// not start the thread, the call fails with Unavailable. QueryCounterData
// waits for the patience of its handle only; see the .cc file. Messages name
// the machine `name`. The threads keep `source` alive until a hanging call
// returns. `source` must be thread-safe.
std::unique_ptr<Source> MakeDeadlineSource(std::unique_ptr<Source> source,
                                           std::string name,
                                           absl::Duration deadline,
                                           const Clock* clock = &Clock::Real());

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_DEADLINE_SOURCE_H_
