#include "driver/windows/sys/notifications.h"

namespace fleetperf::pmu_device {
namespace {

using RegisterProcessorChange = void* NTAPI(PPROCESSOR_CALLBACK_FUNCTION,
                                            void* context, ULONG flags);
using DeregisterProcessorChange = void NTAPI(void* handle);

void NTAPI OnProcessorChange(void* context,
                             KE_PROCESSOR_CHANGE_NOTIFY_CONTEXT* change,
                             NTSTATUS*) {
  if (change->State != KeProcessorAddCompleteNotify) return;
  static_cast<Listener*>(context)->OnCpuAdded(change->NtNumber);
}

// Windows calls this before the machine leaves the working state and after it
// came back, where paging in code is still possible: not at DISPATCH_LEVEL.
void NTAPI OnPowerState(void* context, void* event, void* is_working) {
  constexpr auto kSystemStateLock = uintptr_t{PO_CB_SYSTEM_STATE_LOCK};
  if (reinterpret_cast<uintptr_t>(event) != kSystemStateLock) return;
  if (KeGetCurrentIrql() >= DISPATCH_LEVEL) return;
  auto* const listener = static_cast<Listener*>(context);
  if (is_working == nullptr) {
    listener->OnSleep();
  } else {
    listener->OnWake();
  }
}

}  // namespace

void Notifications::Start(Listener& listener) {
  if (auto* const add = FindRoutine<RegisterProcessorChange>(
          L"KeRegisterProcessorChangeCallback")) {
    processor_callback_ = add(OnProcessorChange, &listener, 0);
  }
  StartPower(listener);
}

void Notifications::StartPower(Listener& listener) {
  UNICODE_STRING name;
  RtlInitUnicodeString(&name, L"\\Callback\\PowerState");
  OBJECT_ATTRIBUTES attributes;
  InitializeObjectAttributes(&attributes, &name,
                             OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, nullptr,
                             nullptr);
  if (!NT_SUCCESS(ExCreateCallback(&power_object_, &attributes, FALSE, TRUE))) {
    power_object_ = nullptr;
    return;
  }
  power_callback_ = ExRegisterCallback(power_object_, OnPowerState, &listener);
}

void Notifications::Stop() {
  if (processor_callback_ != nullptr) {
    FindRoutine<DeregisterProcessorChange>(
        L"KeDeregisterProcessorChangeCallback")(processor_callback_);
  }
  if (power_callback_ != nullptr) ExUnregisterCallback(power_callback_);
  if (power_object_ != nullptr) ObDereferenceObject(power_object_);
}

}  // namespace fleetperf::pmu_device
