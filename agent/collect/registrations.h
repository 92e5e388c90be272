// Loads the registrations of a source's countersets.

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

// A source that leaves this many calls in a row unanswered is not asked for the
// rest.
inline constexpr int kMaxUnanswered = 2;

// Requests all parts of one counterset's registration and parses them. Help
// texts may be missing; all other parts are required. A counterset without
// English names has its localized ones. An invalid default scale
// becomes 0 and is reported in `warnings`, unless that is null.
absl::StatusOr<perflib::CountersetRegistration> LoadRegistration(
    Source& source, const perflib::Guid& counterset,
    std::vector<std::string>* warnings = nullptr);

// Loads all countersets of the source except those in `known`. Countersets that
// cannot be read are left out. `warnings` receives the reasons, and any defects
// in the others. Returns an error if the countersets cannot be listed, if two
// calls exceed their deadline, or if no counterset is known and the source
// refuses every one; and Cancelled once `stop` is set.
absl::StatusOr<std::vector<perflib::CountersetRegistration>> LoadRegistrations(
    Source& source, const std::set<perflib::Guid>& known,
    const std::atomic<bool>& stop, std::vector<std::string>* warnings);

// Returns whether the source has other counters, types, links or names for the
// counterset than `known`. Ignores the help texts.
absl::StatusOr<bool> HasChanged(Source& source,
                                const perflib::CountersetRegistration& known);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_COLLECT_REGISTRATIONS_H_
