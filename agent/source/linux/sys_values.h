// Files of /sys and /proc that hold one value or one list, read rarely.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYS_VALUES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYS_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"

namespace fleetperf::agent {

// The largest values that Linux can be built for. No list exceeds them.
inline constexpr uint64_t kMaxCpus = 65536;
inline constexpr uint64_t kMaxNodes = 1024;

// Returns the first line of the file, or "" if it cannot be read.
std::string ReadFirstLine(const std::string& path);

// Returns the number that the file starts with. std::nullopt if it cannot be
// read or does not start with a digit: also for negative numbers.
std::optional<uint64_t> ReadNumber(const std::string& path);

// Returns the last part of the link's target, or "" if it is none.
std::string LinkTargetName(const std::string& path);

// Reads a file with an ascending list such as "0-3,8,10-11" and calls `use`
// once for each number below `limit`. Returns whether the file can be read.
bool ReadListFile(const std::string& path, uint64_t limit,
                  absl::FunctionRef<void(uint32_t number)> use);

// Returns how many numbers below `limit` such a file has. std::nullopt if it
// cannot be read.
std::optional<uint64_t> CountListFile(const std::string& path, uint64_t limit);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYS_VALUES_H_
