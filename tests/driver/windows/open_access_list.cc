// For a driver whose device would be open to everyone: its access list is not
// the one that it checks.

#define SecurityDescriptor RealSecurityDescriptor
#include "driver/windows/access/access_list.cc"
#undef SecurityDescriptor

namespace fleetperf::pmu_device {

// D:(A;;FA;;;WD)
const uint8_t* SecurityDescriptor() {
  static constexpr uint8_t kOpenDescriptor[] = {
      1, 0, 0x04, 0x80, 0,    0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
      2, 0, 28,   0,    1,    0, 0,    0,  // list
      0, 0, 20,   0,    0xFF, 1, 0x1F, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0,  0, 0, 0};
  return kOpenDescriptor;
}

}  // namespace fleetperf::pmu_device
