// The device of the driver fleetperf_pmu, as the driver and its clients see it.
//
// A request is a DeviceIoControl whose input is a request of protocol.h and
// whose output is a DeviceReply, followed by the core's reply. The call
// succeeds whenever the core got the request; DeviceReply has its result.

#ifndef FLEETPERF_DRIVER_WINDOWS_ACCESS_DEVICE_INTERFACE_H_
#define FLEETPERF_DRIVER_WINDOWS_ACCESS_DEVICE_INTERFACE_H_

#include <stdint.h>

#include "driver/pmu/protocol.h"

namespace fleetperf::pmu_device {

inline constexpr wchar_t kServiceName[] = L"fleetperf_pmu";
inline constexpr wchar_t kDeviceName[] = L"\\Device\\fleetperf_pmu";
inline constexpr wchar_t kLinkName[] = L"\\DosDevices\\fleetperf_pmu";
// Opens the device in CreateFile.
inline constexpr wchar_t kDevicePath[] = L"\\\\.\\fleetperf_pmu";

// From 0x8000 on, device types belong to vendors; likewise function codes from
// 0x800 on.
inline constexpr uint32_t kDeviceType = 0x8F1E;
inline constexpr uint32_t kFirstFunction = 0x800;

// Returns CTL_CODE(kDeviceType, kFirstFunction + command, METHOD_BUFFERED,
// FILE_READ_ACCESS | FILE_WRITE_ACCESS).
constexpr uint32_t ControlCode(pmu::Command command) {
  constexpr uint32_t kReadAndWrite = 3;
  return kDeviceType << 16 | kReadAndWrite << 14 |
         (kFirstFunction + static_cast<uint32_t>(command)) << 2;
}

// The reverse. A code of another access, method or device type gives a command
// that the core does not know.
constexpr pmu::Command CommandOf(uint32_t code) {
  const pmu::Command command{(code >> 2 & 0xFFF) - kFirstFunction};
  return ControlCode(command) == code ? command : pmu::Command{0};
}

struct DeviceReply {
  pmu::Result result = pmu::Result::kOk;
  uint32_t reserved = 0;
};
static_assert(sizeof(DeviceReply) == 8);

}  // namespace fleetperf::pmu_device

#endif  // FLEETPERF_DRIVER_WINDOWS_ACCESS_DEVICE_INTERFACE_H_
