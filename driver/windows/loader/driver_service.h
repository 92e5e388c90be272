// The driver's entry in the service control manager.

#ifndef FLEETPERF_DRIVER_WINDOWS_LOADER_DRIVER_SERVICE_H_
#define FLEETPERF_DRIVER_WINDOWS_LOADER_DRIVER_SERVICE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetperf {

enum class DriverState {
  kNotInstalled,
  kStopped,
  kStarting,
  kRunning,
  kStopping
};

// Returns "not installed", "stopped", ...
const char* Name(DriverState state);

// The service fleetperf_pmu with a certain image. All functions fail with
// AlreadyExists if a service of that name has another image: another
// product's, or another copy of the driver. Each opens the service with no more
// rights than it needs.
class DriverService {
 public:
  // A relative path is made absolute: Windows would look for it elsewhere.
  explicit DriverService(const std::string& image);

  const std::string& image() const { return image_; }

  // Creates the service, which starts on demand only. No change if it exists.
  absl::Status Install() const;

  // No change if the driver runs.
  absl::Status Start() const;

  absl::StatusOr<DriverState> State() const;

  // Waits until the driver has stopped: until all programs have closed the
  // device. No change if the driver is not installed or does not run.
  absl::Status Stop() const;

  // Stops the driver, and removes the service. The image remains.
  absl::Status Remove() const;

 private:
  const std::string image_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_DRIVER_WINDOWS_LOADER_DRIVER_SERVICE_H_
