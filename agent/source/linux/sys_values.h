// Files of /sys and /proc that hold one number or one list, read rarely.

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

// Reads a file that contains one number. std::nullopt if it does not.
std::optional<uint64_t> ReadNumberFile(const std::string& path);

// Reads a file with an ascending list such as "0-3,8,10-11" and calls `use`
// once for each number below `limit`. Returns whether the file can be read.
bool ReadListFile(const std::string& path, uint64_t limit,
                  absl::FunctionRef<void(uint32_t number)> use);

// Returns how many numbers below `limit` such a file has. std::nullopt if it
// cannot be read.
std::optional<uint64_t> CountListFile(const std::string& path, uint64_t limit);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYS_VALUES_H_
