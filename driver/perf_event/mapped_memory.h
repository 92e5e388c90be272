// Memory that a System mapped, unmapped with the object.

#ifndef FLEETPERF_DRIVER_PERF_EVENT_MAPPED_MEMORY_H_
#define FLEETPERF_DRIVER_PERF_EVENT_MAPPED_MEMORY_H_

#include <cstddef>
#include <utility>

#include "driver/perf_event/system.h"

namespace fleetperf::perf_event {

class MappedMemory {
 public:
  MappedMemory(System& system, void* address, size_t size)
      : system_(&system), address_(address), size_(size) {}
  MappedMemory(MappedMemory&& other) noexcept
      : system_(other.system_),
        address_(std::exchange(other.address_, nullptr)),
        size_(other.size_) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~MappedMemory() {
    if (address_ != nullptr) system_->Unmap(address_, size_);
  }

  char* data() const { return static_cast<char*>(address_); }
  size_t size() const { return size_; }

 private:
  System* system_;
  void* address_;
  size_t size_;
};

}  // namespace fleetperf::perf_event

#endif  // FLEETPERF_DRIVER_PERF_EVENT_MAPPED_MEMORY_H_
