// The use of graphics devices by processes.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_GPU_GPU_USE_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_GPU_GPU_USE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/source/linux/gpu/drm_client.h"
#include "agent/source/linux/periodic.h"
#include "agent/source/linux/proc_file.h"
#include "agent/source/provider.h"
#include "perflib/clocks.h"

namespace fleetperf::agent {

// Reads the descriptors of graphics devices in /proc/PID/fdinfo. Looks for such
// descriptors every 30 s, because that takes a system call for each descriptor
// of each process; on machines without graphics devices, not at all. Other
// users' processes need CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.
// Thread-compatible.
class GpuUse {
 public:
  struct Engine {
    std::string utf16_name;
    uint64_t busy = 0;      // ns, of all engines of the name
    uint64_t capacity = 1;  // the number of these
    uint64_t first_pass = 0;
    uint64_t last_pass = 0;
  };
  // Bytes, as in DrmClient.
  struct Memory {
    std::string utf16_name;
    std::optional<uint64_t> committed;
    std::optional<uint64_t> dedicated;
    std::optional<uint64_t> shared;
  };

  // `root` is the directory that holds proc and sys: "" on a real machine.
  explicit GpuUse(std::string root) : root_(std::move(root)) {}

  // Reads the state at this time, unless it has. `sample` notes what limits
  // leave out.
  void Update(const perflib::Clocks& clocks, CountersetSample* sample);

  // By process, adapter and engine. The time of a client that was opened by a
  // process that is known already counts from its second reading, because it
  // may have been in use since the last search for descriptors.
  const std::map<std::tuple<uint32_t, std::string, std::string>, Engine>&
  engines() const {
    return engines_;
  }
  // By process and adapter.
  const std::map<std::pair<uint32_t, std::string>, Memory>& processes() const {
    return processes_;
  }
  // Adapters that processes use. Buffers that clients share count several
  // times.
  const std::map<std::string, Memory>& adapters() const { return adapters_; }

 private:
  struct Descriptor {
    uint32_t pid;
    ProcFile info;
  };
  struct Client {
    std::map<std::string, uint64_t> busy;  // the highest so far, by engine
    uint64_t last_pass = 0;
  };

  void Read(const perflib::Clocks& clocks);
  bool HasDevices() const;
  void FindDescriptors();
  void FindDescriptorsOf(uint32_t pid);
  void Add(uint32_t pid, const DrmClient& client);
  void AddEngine(uint32_t pid, const std::string& adapter,
                 const DrmClient::Engine& engine, Client* known);
  void RemoveEnded();

  const std::string root_;
  Periodic find_{/*seconds=*/30};
  std::optional<int64_t> last_update_;   // PerfTimeStamp
  std::vector<Descriptor> descriptors_;  // by process
  // Beyond the limits: descriptors at the last search, and engines and memory
  // regions of clients in the last pass.
  uint64_t left_out_descriptors_ = 0;
  uint64_t left_out_parts_ = 0;
  std::vector<uint32_t> pids_;
  std::string buffer_;
  uint64_t pass_ = 0;
  std::map<std::pair<std::string, uint64_t>, Client> clients_;
  std::map<std::tuple<uint32_t, std::string, std::string>, Engine> engines_;
  std::map<std::pair<uint32_t, std::string>, Memory> processes_;
  std::map<std::string, Memory> adapters_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_GPU_GPU_USE_H_
