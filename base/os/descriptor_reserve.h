// File descriptors kept for work that must succeed when a process has no other
// left.

#ifndef FLEETPERF_BASE_OS_DESCRIPTOR_RESERVE_H_
#define FLEETPERF_BASE_OS_DESCRIPTOR_RESERVE_H_

#include <cstddef>
#include <vector>

namespace fleetperf {

// Windows has no such limit: there, the functions do nothing.
// Thread-compatible.
class DescriptorReserve {
 public:
  // Takes the descriptors.
  explicit DescriptorReserve(size_t size);
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  // Takes the descriptors that are missing, as far as there are any.
  void Take();
  // Gives up the descriptors, for others to use.
  void Release();

 private:
  const size_t size_;
  std::vector<int> descriptors_;
};

}  // namespace fleetperf

#endif  // FLEETPERF_BASE_OS_DESCRIPTOR_RESERVE_H_
