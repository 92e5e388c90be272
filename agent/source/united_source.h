// Unites the two interfaces of PerfLib into one source.

#ifndef FLEETPERF_AGENT_SOURCE_UNITED_SOURCE_H_
#define FLEETPERF_AGENT_SOURCE_UNITED_SOURCE_H_

#include <memory>

#include "agent/source/source.h"

namespace fleetperf::agent {

// Serves the countersets of both sources. A counterset that both have, by its
// English name, is read by `v2`; that of `v1` has no registration then, even if
// it was served while `v2` could not be enumerated. If only one source fails to
// enumerate, the countersets of the other are served, and Problems() says why:
// except for Unimplemented of `v1`. It also returns the problems of both
// sources.
std::unique_ptr<Source> UniteSources(std::unique_ptr<Source> v2,
                                     std::unique_ptr<Source> v1);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_UNITED_SOURCE_H_
