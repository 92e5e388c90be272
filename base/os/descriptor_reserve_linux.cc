#include <fcntl.h>
#include <unistd.h>

#include "base/os/descriptor_reserve.h"

namespace fleetperf {

DescriptorReserve::DescriptorReserve(size_t size) : size_(size) { Take(); }

DescriptorReserve::~DescriptorReserve() { Release(); }

void DescriptorReserve::Take() {
  while (descriptors_.size() < size_) {
    const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    descriptors_.push_back(descriptor);
  }
}

void DescriptorReserve::Release() {
  for (const int descriptor : descriptors_) close(descriptor);
  descriptors_.clear();
}

}  // namespace fleetperf
