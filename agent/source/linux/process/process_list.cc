#include "agent/source/linux/process/process_list.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"

namespace fleetperf::agent {

absl::Status ListProcesses(const std::string& proc,
                           std::vector<uint32_t>* pids) {
  pids->clear();
  DIR* directory = opendir(proc.c_str());
  if (directory == nullptr) {
    return StatusFromErrno(errno, absl::StrCat("cannot list ", proc));
  }
  const absl::Cleanup close_directory = [directory] { closedir(directory); };
  while (const dirent* entry = readdir(directory)) {
    uint32_t pid;
    const char first = entry->d_name[0];
    if (first >= '1' && first <= '9' && absl::SimpleAtoi(entry->d_name, &pid)) {
      pids->push_back(pid);
    }
  }
  std::sort(pids->begin(), pids->end());
  return absl::OkStatus();
}

}  // namespace fleetperf::agent
