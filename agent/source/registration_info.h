// Answers PerfQueryCounterSetRegistrationInfo for sources that know their
// registrations.

#ifndef FLEETPERF_AGENT_SOURCE_REGISTRATION_INFO_H_
#define FLEETPERF_AGENT_SOURCE_REGISTRATION_INFO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// Returns the bytes that answer `request`; see Source.
absl::StatusOr<std::string> RegistrationInfo(
    const perflib::CountersetRegistration& registration,
    const perflib::Guid& provider, perflib::RegistrationRequest request,
    uint32_t argument);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_REGISTRATION_INFO_H_
