// A DLL whose functions are resolved at run time.

#ifndef FLEETPERF_AGENT_SOURCE_WINDOWS_WINDOWS_DLL_H_
#define FLEETPERF_AGENT_SOURCE_WINDOWS_WINDOWS_DLL_H_

#include <string>

#include "absl/status/statusor.h"

namespace fleetperf::agent {

// Stays loaded until the process ends. Immutable, so thread-safe.
class WindowsDll {
 public:
  // Loads the DLL at `path`, or the Windows advapi32.dll if `path` is empty.
  static absl::StatusOr<WindowsDll> Load(const std::string& path);

  // Sets `function` to the exported function `name`, or to null.
  template <typename Function>
  void Resolve(const char* name, Function* function) const {
    *function = reinterpret_cast<Function>(Find(name));
  }

 private:
  explicit WindowsDll(void* dll) : dll_(dll) {}
  void* Find(const char* name) const;

  void* dll_;
};

}  // namespace fleetperf::agent

#endif  // FLEETPERF_AGENT_SOURCE_WINDOWS_WINDOWS_DLL_H_
