// Files and directories of /sys, and files of /proc that hold one value or one
// list, read rarely.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_SYSFS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_SYSFS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
// cannot be read or has none.
std::optional<uint64_t> CountListFile(const std::string& path, uint64_t limit);

// Both return sorted names, without hidden ones (".name"), and none if the
// directory does not exist.
std::vector<std::string> ListNames(const std::string& path);
// Links to directories, as in /sys/class, are left out.
std::vector<std::string> ListSubdirectories(const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_SYSFS_H_
