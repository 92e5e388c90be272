// The permitted uses of a certificate.

#ifndef FLEETPERF_BASE_CERTIFICATE_USE_H_
#define FLEETPERF_BASE_CERTIFICATE_USE_H_

#include <string>

#include "absl/status/status.h"

namespace fleetperf {

// Checks that a TLS client may use the first certificate of a PEM text, as an
// aggregator with peers does. Returns FailedPrecondition, with `file` and the
// remedy, if its extended key usage does not allow it.
absl::Status CheckClientUse(const std::string& certificate,
                            const std::string& file);

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_CERTIFICATE_USE_H_
