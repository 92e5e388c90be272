// Reads values of HKEY_PERFORMANCE_DATA, for the countersets of PerfLib V1.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PERFORMANCE_DATA_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PERFORMANCE_DATA_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/source/windows/v1/registry_functions.h"
#include "base/os/clock.h"

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

// The number of reads that hang on threads of their own.
using HangingReads = std::shared_ptr<std::atomic<int>>;
inline constexpr int kMaxHangingReads = 8;

// Bounds the reads of another machine, which may hang there or on the way. Each
// query runs on a thread of its own. After `timeout`, it fails with
// Aborted, its thread keeps the data, and the next query opens other data.
// While `hanging` counts kMaxHangingReads, or the system starts no thread,
// queries fail at once with Unavailable. `clock` must outlive the threads.
std::unique_ptr<PerformanceData> MakeDeadlineData(OpenPerformanceData open,
                                                  absl::Duration timeout,
                                                  HangingReads hanging,
                                                  const Clock* clock);

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_V1_PERFORMANCE_DATA_H_
