// The accounts that may open the driver's device.
//
// Freestanding. The layouts are those of MS-DTYP: 2.4.6 SECURITY_DESCRIPTOR,
// 2.4.5 ACL, 2.4.4.2 ACCESS_ALLOWED_ACE, 2.4.2.2 SID.

#ifndef FLEETPERF_DRIVER_WINDOWS_ACCESS_ACCESS_LIST_H_
#define FLEETPERF_DRIVER_WINDOWS_ACCESS_ACCESS_LIST_H_

#include <stddef.h>
#include <stdint.h>

namespace fleetperf::pmu_device {

// A self-relative security descriptor that has an access list only:
//   D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FRFW;;;S-1-5-80-...)
// The system and administrators have all rights; the service fleetperf-agent
// may open the device for reading and writing; nothing else may open it.
inline constexpr size_t kSecurityDescriptorSize = 112;
const uint8_t* SecurityDescriptor();

// Whether a self-relative security descriptor of `size` bytes, e.g. one that
// was read back from the device, has exactly that access list. Does not compare
// the protection from inheritance, which devices do not have.
bool HasAccessList(const void* descriptor, size_t size);

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_ACCESS_ACCESS_LIST_H_
