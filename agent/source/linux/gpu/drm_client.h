// The text of /proc/PID/fdinfo/FD for a descriptor of a graphics device.

#ifndef FLEETPERF_AGENT_SOURCE_LINUX_GPU_DRM_CLIENT_H_
#define FLEETPERF_AGENT_SOURCE_LINUX_GPU_DRM_CLIENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace fleetperf::agent {

// A use of a graphics device: what a program got by opening it. Descriptors
// that were duplicated or passed to other processes are the same client.
struct DrmClient {
  struct Engine {
    std::string name;  // "render", "gfx"
    // ns. Absent if the driver counts cycles only, as xe does.
    std::optional<uint64_t> busy;
    // The number of engines of this name that `busy` sums up.
    uint64_t capacity = 1;
  };

  // The PCI address, "0000:03:00.0", else the driver's name.
  std::string adapter;
  uint64_t id = 0;  // unique within the adapter
  std::vector<Engine> engines;
  // Bytes of buffers: those that exist, and those that are in the memory of the
  // adapter and of the machine. Absent if the driver does not tell them.
  std::optional<uint64_t> committed;
  std::optional<uint64_t> dedicated;
  std::optional<uint64_t> shared;
  uint64_t left_out = 0;  // engines and regions of memory beyond the limits
};

// std::nullopt for other descriptors, and for drivers that do not number their
// clients, because these could count twice.
std::optional<DrmClient> ParseDrmClient(absl::string_view text);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_LINUX_GPU_DRM_CLIENT_H_
