// The contents of directories in /sys.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DIRECTORY_NAMES_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DIRECTORY_NAMES_H_

#include <string>
#include <vector>

namespace fleetperf::agent {

// Both return sorted names, without hidden ones (".name"), and none if the
// directory does not exist.
std::vector<std::string> ListNames(const std::string& path);
// Links to directories, as in /sys/class, are left out.
std::vector<std::string> ListSubdirectories(const std::string& path);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DIRECTORY_NAMES_H_
