// The counterset "Linux NFS Client": the requests of mounted NFS file systems,
// from /proc/net/rpc/nfs.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_NFS_CLIENT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_NFS_CLIENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/linux/wrapping_counter.h"
#include "agent/source/provider.h"

namespace fleetperf::agent {

class LinuxNfsClient : public Provider {
 public:
  static const LinuxCounterset kCounterset;

  // `root` is the directory that holds proc: "" on a real machine.
  explicit LinuxNfsClient(const std::string& root);

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override;

 private:
  void ReadLine(absl::string_view line, CountersetSample* sample);

  ProcFile file_;
  std::string buffer_;
  std::vector<WrappingCounter> counters_;  // of each number that is used
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_DISK_LINUX_NFS_CLIENT_H_
