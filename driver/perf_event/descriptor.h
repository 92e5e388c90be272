// A file descriptor of a System that is closed with the object.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_DESCRIPTOR_H_
#define FLEETPERF_DRIVER_PERF_EVENT_DESCRIPTOR_H_

#include <utility>

#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

class Descriptor {
 public:
  Descriptor(System& system, int descriptor)
      : system_(&system), descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept
      : system_(other.system_),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ >= 0) system_->Close(descriptor_);
  }

  System& system() const { return *system_; }
  int get() const { return descriptor_; }
  int Release() { return std::exchange(descriptor_, -1); }

 private:
  System* system_;
  int descriptor_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_DESCRIPTOR_H_
