// The page docs/reference/linux-counters.md.

#ifndef FLEETPERF_TESTS_AGENT_SOURCE_LINUX_LINUX_COUNTERS_PAGE_H_
#define FLEETPERF_TESTS_AGENT_SOURCE_LINUX_LINUX_COUNTERS_PAGE_H_

#include <string>

#include "absl/types/span.h"
#include "agent/source/linux/counters.h"

namespace fleetperf::testing {

// Returns the page in Markdown: a section for each counterset, in this order.
std::string LinuxCountersPage(
    absl::Span<const agent::LinuxCounterset* const> countersets);

}  // namespace fleetperf::testing

#endif  // FLEETPERF_TESTS_AGENT_SOURCE_LINUX_LINUX_COUNTERS_PAGE_H_
