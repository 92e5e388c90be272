#include "driver/windows/sys/device.h"

#include "driver/windows/access/access_list.h"
#include "driver/windows/access/device_interface.h"

namespace fleetperf::pmu_device {
namespace {

UNICODE_STRING Text(const wchar_t* text) {
  UNICODE_STRING result;
  RtlInitUnicodeString(&result, text);
  return result;
}

// Sets the access list and reads it back.
NTSTATUS SetAccessList(HANDLE device) {
  NTSTATUS status = ZwSetSecurityObject(
      device, DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
      const_cast<uint8_t*>(SecurityDescriptor()));
  if (!NT_SUCCESS(status)) return status;
  alignas(8) uint8_t descriptor[2 * kSecurityDescriptorSize];
  ULONG size = 0;
  status = ZwQuerySecurityObject(device, DACL_SECURITY_INFORMATION, descriptor,
                                 sizeof descriptor, &size);
  if (!NT_SUCCESS(status)) return status;
  return size <= sizeof descriptor && HasAccessList(descriptor, size)
             ? STATUS_SUCCESS
             : STATUS_INVALID_SECURITY_DESCR;
}

NTSTATUS Secure(DEVICE_OBJECT* device) {
  HANDLE handle;
  NTSTATUS status = ObOpenObjectByPointer(device, OBJ_KERNEL_HANDLE, nullptr,
                                          WRITE_DAC | READ_CONTROL, nullptr,
                                          KernelMode, &handle);
  if (!NT_SUCCESS(status)) return status;
  status = SetAccessList(handle);
  ZwClose(handle);
  return status;
}

NTSTATUS CreateLink() {
  UNICODE_STRING link = Text(kLinkName);
  UNICODE_STRING name = Text(kDeviceName);
  return IoCreateSymbolicLink(&link, &name);
}

}  // namespace

NTSTATUS CreateSecureDevice(DRIVER_OBJECT* driver, ULONG extension_size,
                            DEVICE_OBJECT** device) {
  UNICODE_STRING name = Text(kDeviceName);
  // FILE_DEVICE_SECURE_OPEN: the list also holds for names below the device.
  NTSTATUS status =
      IoCreateDevice(driver, extension_size, &name, kDeviceType,
                     FILE_DEVICE_SECURE_OPEN, /*Exclusive=*/FALSE, device);
  if (!NT_SUCCESS(status)) return status;
  status = Secure(*device);
  if (NT_SUCCESS(status)) status = CreateLink();
  if (!NT_SUCCESS(status)) IoDeleteDevice(*device);
  return status;
}

void DeleteSecureDevice(DEVICE_OBJECT* device) {
  UNICODE_STRING link = Text(kLinkName);
  IoDeleteSymbolicLink(&link);
  IoDeleteDevice(device);
}

}  // namespace fleetperf::pmu_device
