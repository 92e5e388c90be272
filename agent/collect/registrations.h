// The registration information of a source's countersets.

#ifndef FLEETPERF_AGENT_COLLECT_REGISTRATIONS_H_
#define FLEETPERF_AGENT_COLLECT_REGISTRATIONS_H_

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/source/source.h"
#include "perflib/registration.h"

namespace fleetperf::agent {

// Asks for one counterset's registration in all its pieces and reads them. Help
// texts may be missing; the rest may not. A default scale that is none becomes
// 0, and `warnings` says so unless it is null.
absl::StatusOr<perflib::CountersetRegistration> LoadRegistration(
    Source& source, const perflib::Guid& counterset,
    std::vector<std::string>* warnings = nullptr);

// All countersets of the source but those in `known`. One that cannot be read
// is left out, and `warnings` says why, as they do of what is wrong in others.
// An error if the source does not answer or lets nobody in; Cancelled once
// `stop` is set.
absl::StatusOr<std::vector<perflib::CountersetRegistration>> LoadRegistrations(
    Source& source, const std::set<perflib::Guid>& known,
    const std::atomic<bool>& stop, std::vector<std::string>* warnings);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_REGISTRATIONS_H_
