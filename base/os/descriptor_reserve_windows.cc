#include "base/os/descriptor_reserve.h"

namespace fleetperf {

DescriptorReserve::DescriptorReserve(size_t size) : size_(size) {}

DescriptorReserve::~DescriptorReserve() = default;

void DescriptorReserve::Take() {}

void DescriptorReserve::Release() { descriptors_.clear(); }

}  // namespace fleetperf
