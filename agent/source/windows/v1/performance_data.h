// Reads values of HKEY_PERFORMANCE_DATA, for the countersets of PerfLib V1.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PERFORMANCE_DATA_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PERFORMANCE_DATA_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "agent/source/windows/v1/registry_functions.h"

namespace fleetperf::agent {

// The largest value that is read: far above the size of any valid one.
inline constexpr uint32_t kMaxPerformanceData = 64 << 20;

// HKEY_PERFORMANCE_DATA of one machine. Thread-compatible.
class PerformanceData {
 public:
  virtual ~PerformanceData() = default;

  // Replaces `bytes` by a value: "Counter 009" (names), "Global" (all objects),
  // or "2 238" (objects, by title index). The bytes are untrusted. Messages
  // name the machine, and the fix of common errors.
  virtual absl::Status Query(const std::string& value, std::string* bytes) = 0;
};

// Opens the data of a machine. Thread-safe.
using OpenPerformanceData = std::function<std::unique_ptr<PerformanceData>()>;

// Reads in this process, and loads providers' DLLs into it unless `machine` is
// another machine. Empty is this machine.
std::unique_ptr<PerformanceData> MakeRegistryPerformanceData(
    const RegistryFunctions& functions, const std::string& machine);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PERFORMANCE_DATA_H_
