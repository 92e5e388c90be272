// One value of /sys, read once.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SMALL_VALUE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SMALL_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace fleetperf::agent {

// Returns the first line of the file, or "" if it cannot be read.
std::string ReadFirstLine(const std::string& path);

// Returns the number that the file starts with. std::nullopt if it cannot be
// read or does not start with a digit: also for negative numbers.
std::optional<uint64_t> ReadNumber(const std::string& path);

// Returns the last part of the link's target, or "" if it is none.
std::string LinkTargetName(const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SMALL_VALUE_H_
