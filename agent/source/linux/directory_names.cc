#include "agent/source/linux/directory_names.h"

#include <dirent.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"

namespace fleetperf::agent {
namespace {

std::vector<std::string> List(const std::string& path, bool only_directories) {
  std::vector<std::string> names;
  DIR* const directory = opendir(path.c_str());
  if (directory == nullptr) return names;
  const absl::Cleanup close = [directory] { closedir(directory); };
  while (const dirent* entry = readdir(directory)) {
    if (only_directories && entry->d_type != DT_DIR) continue;
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::string> ListNames(const std::string& path) {
  return List(path, /*only_directories=*/false);
}

std::vector<std::string> ListSubdirectories(const std::string& path) {
  return List(path, /*only_directories=*/true);
}

}  // namespace fleetperf::agent
