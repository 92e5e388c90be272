// Gets the agent's first certificate with a one-time token.

#ifndef FLEETPERF_AGENT_ENROLL_H_
#define FLEETPERF_AGENT_ENROLL_H_

#include <string>

#include "absl/status/status.h"
#include "agent/config.h"

namespace fleetperf::agent {

// Makes a key, which never leaves this machine, and has the server at `address`
// ("host:port"), a `fleetperf pki serve`, issue a certificate for it. Writes
// the key, the certificate and the authority to the files of `config.tls`; all
// users may read the latter two. The server is known by the authority's
// fingerprint in `token` (base/tls/enrolment_token.h), and by its role: no
// other server of that authority gets the token. Returns AlreadyExists if there
// is a key already.
absl::Status Enroll(const Config& config, const std::string& address,
                    const std::string& token);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_ENROLL_H_
