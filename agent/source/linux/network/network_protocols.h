// The countersets of network protocols. Their counters are numbers, or sums of
// numbers, in one file of /proc/net, for the agent's network namespace.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_PROTOCOLS_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_PROTOCOLS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/source/linux/counters.h"
#include "agent/source/linux/network/protocol_statistics.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// A file of /proc that several countersets read in the same tick.
// Thread-compatible.
class SharedProcFile {
 public:
  explicit SharedProcFile(std::string path) : file_(std::move(path)) {}

  // Returns the contents at the time of `clocks`, which are those of the tick.
  // Only the first call of a tick reads the file. The view is valid until the
  // next tick's call.
  absl::StatusOr<absl::string_view> Read(const perflib::Clocks& clocks) {
    if (clocks != read_at_) {
      text_ = file_.Read(&buffer_);
      read_at_ = clocks;
    }
    return text_;
  }

 private:
  ProcFile file_;
  std::string buffer_;
  perflib::Clocks read_at_;
  absl::StatusOr<absl::string_view> text_;
};

// In /proc/net/snmp. There is no TCPv6: the kernel counts the segments and
// connections of both families together, and snmp6 has none of them.
extern const LinuxCounterset kTcpV4;
extern const LinuxCounterset kUdpV4;
extern const LinuxCounterset kIpV4;
extern const LinuxCounterset kIcmp;
// In /proc/net/snmp6.
extern const LinuxCounterset kUdpV6;
extern const LinuxCounterset kIpV6;
extern const LinuxCounterset kIcmpV6;
// In /proc/net/netstat.
extern const LinuxCounterset kLinuxNetworkProtocol;

// A counterset without instances, whose sources are as FieldsOf expects them.
// `Format` is LinePairs or NamedLines.
template <typename Format>
class NetworkProtocol : public Provider {
 public:
  // `file` is the file that the counterset's sources name.
  NetworkProtocol(const LinuxCounterset& counterset,
                  std::shared_ptr<SharedProcFile> file)
      : Provider(MakeRegistration(counterset)),
        file_(std::move(file)),
        format_(FieldsOf(counterset.counters)) {}

  absl::Status Sample(ColumnSet needed, const perflib::Clocks& clocks,
                      CountersetSample* sample) override {
    sample->AddInstance("", 0);
    if (needed == 0) return absl::OkStatus();
    const auto text = file_->Read(clocks);
    if (!text.ok()) return OkIfNotFound(text.status());
    format_.Read(*text, sample);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<SharedProcFile> file_;
  Format format_;
};

// Adds the providers of the countersets above, which share their files. `root`
// is the directory that holds proc: "" on a real machine.
void AddNetworkProtocols(const std::string& root,
                         std::vector<std::unique_ptr<Provider>>* providers);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_NETWORK_NETWORK_PROTOCOLS_H_
