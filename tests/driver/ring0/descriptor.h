// A file descriptor that is closed with the object.

#ifndef FLEETPERF_TESTS_DRIVER_RING0_DESCRIPTOR_H_
#define FLEETPERF_TESTS_DRIVER_RING0_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace fleetperf::ring0 {

class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace fleetperf::ring0

#endif  // FLEETPERF_TESTS_DRIVER_RING0_DESCRIPTOR_H_
