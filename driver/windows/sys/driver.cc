// fleetperf_pmu.sys: the PMU core as a Windows driver.

#include <new>

#include "driver/windows/sys/device.h"
#include "driver/windows/sys/kernel.h"
#include "driver/windows/sys/notifications.h"
#include "driver/windows/sys/processors.h"
#include "driver/windows/sys/server.h"

// Images for tests have another machine.
#ifndef FLEETPERF_PMU_MACHINE
#define FLEETPERF_PMU_MACHINE "driver/windows/sys/windows_machine.h"
#endif
#include FLEETPERF_PMU_MACHINE

namespace fleetperf::pmu_device {
namespace {

constexpr ULONG kPoolTag = 'pftF';

// In one allocation with the memory of the Pmu, because a device extension is
// limited to 64 KiB.
struct alignas(16) Driver {
  Driver() : server(machine, this + 1) {}

  DriverMachine machine;
  Server server;
  Notifications notifications;
};

// The device extension.
struct Extension {
  Driver* driver;
};

Driver*& DriverOf(DEVICE_OBJECT* device) {
  return static_cast<Extension*>(device->DeviceExtension)->driver;
}

pmu::ClientId ClientOf(const IO_STACK_LOCATION& location) {
  return reinterpret_cast<pmu::ClientId>(location.FileObject);
}

NTSTATUS Complete(IRP* irp, NTSTATUS status, size_t size = 0) {
  irp->IoStatus.Status = status;
  irp->IoStatus.Information = size;
  IoCompleteRequest(irp, IO_NO_INCREMENT);
  return status;
}

NTSTATUS NTAPI OnCreate(DEVICE_OBJECT*, IRP* irp) {
  const FILE_OBJECT* file = IoGetCurrentIrpStackLocation(irp)->FileObject;
  const bool is_device = file != nullptr && file->FileName.Length == 0;
  return Complete(irp,
                  is_device ? STATUS_SUCCESS : STATUS_OBJECT_NAME_NOT_FOUND);
}

// The last handle of a client is closed. Wine sends no IRP_MJ_CLEANUP, only
// IRP_MJ_CLOSE.
NTSTATUS NTAPI OnCleanupOrClose(DEVICE_OBJECT* device, IRP* irp) {
  DriverOf(device)->server.Close(ClientOf(*IoGetCurrentIrpStackLocation(irp)));
  return Complete(irp, STATUS_SUCCESS);
}

NTSTATUS NTAPI OnControl(DEVICE_OBJECT* device, IRP* irp) {
  const IO_STACK_LOCATION& location = *IoGetCurrentIrpStackLocation(irp);
  const auto& control = location.Parameters.DeviceIoControl;
  const pmu::Command command = CommandOf(control.IoControlCode);
  if (command == pmu::Command{0}) {
    return Complete(irp, STATUS_INVALID_DEVICE_REQUEST);
  }
  if (control.OutputBufferLength < sizeof(DeviceReply)) {
    return Complete(irp, STATUS_BUFFER_TOO_SMALL);
  }
  const size_t size = DriverOf(device)->server.Handle(
      ClientOf(location), command, irp->AssociatedIrp.SystemBuffer,
      control.InputBufferLength, control.OutputBufferLength);
  return Complete(irp, STATUS_SUCCESS, size);
}

// Windows unloads the driver when no client has the device open.
void NTAPI OnUnload(DRIVER_OBJECT* object) {
  DEVICE_OBJECT* const device = object->DeviceObject;
  Driver* const driver = DriverOf(device);
  driver->notifications.Stop();
  driver->server.Stop();
  driver->~Driver();
  ExFreePoolWithTag(driver, kPoolTag);
  DeleteSecureDevice(device);
}

NTSTATUS Start(DRIVER_OBJECT* object) {
  DEVICE_OBJECT* device = nullptr;
  const NTSTATUS status =
      CreateSecureDevice(object, sizeof(Extension), &device);
  if (!NT_SUCCESS(status)) return status;
  void* const memory = ExAllocatePoolWithTag(
      NonPagedPoolNx,
      sizeof(Driver) + pmu::Pmu::MemorySize(Processors::Limit()), kPoolTag);
  if (memory == nullptr) {
    DeleteSecureDevice(device);
    return STATUS_INSUFFICIENT_RESOURCES;
  }
  auto* const driver = new (memory) Driver;
  DriverOf(device) = driver;
  driver->notifications.Start(driver->server);
  object->MajorFunction[IRP_MJ_CREATE] = OnCreate;
  object->MajorFunction[IRP_MJ_CLEANUP] = OnCleanupOrClose;
  object->MajorFunction[IRP_MJ_CLOSE] = OnCleanupOrClose;
  object->MajorFunction[IRP_MJ_DEVICE_CONTROL] = OnControl;
  object->DriverUnload = OnUnload;
  return STATUS_SUCCESS;
}

}  // namespace
}  // namespace fleetperf::pmu_device

extern "C" NTSTATUS NTAPI DriverEntry(DRIVER_OBJECT* driver, UNICODE_STRING*) {
  return fleetperf::pmu_device::Start(driver);
}
