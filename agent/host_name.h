// The agent's name if the configuration sets none: that of the host, which may
// get its name only after the agent has started.

#ifndef FLEETPERF_AGENT_HOST_NAME_H_
#define FLEETPERF_AGENT_HOST_NAME_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/config.h"

namespace fleetperf::agent {

// Returns whether this is the name of a host that has not got its own yet:
// "localhost", "localhost.localdomain", "(none)", or nothing.
bool IsPlaceholder(absl::string_view host_name);

// Returns Unavailable if the agent must not collect under its name yet: the
// configuration sets none, the host has only a placeholder, and the certificate
// does not name that. The message says what the agent waits for, and how to
// start without it.
absl::Status CheckHostIsNamed(const Config& config);

// Returns whether the agent should restart under the host's name: the
// configuration sets no name, and the certificate names the host as it is
// called now, but not as in `config.name`.
bool HasBetterHostName(const Config& config);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_HOST_NAME_H_
