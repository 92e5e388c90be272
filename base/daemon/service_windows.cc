#include <windows.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/daemon/service.h"
#include "base/os/event_log_windows.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"

namespace fleetperf {
namespace {

// The service control manager passes no context to its callbacks.
struct Service {
  std::wstring name;
  StopSignal* stop = nullptr;
  const std::function<absl::Status()>* run = nullptr;
  absl::Status result;
  SERVICE_STATUS_HANDLE status_handle = nullptr;
  absl::Mutex mutex;
  bool is_stopped ABSL_GUARDED_BY(mutex) = false;
};
Service* the_service = nullptr;

// The longest time that the agent needs to deliver its samples while a PerfLib
// call hangs.
constexpr DWORD kStopMilliseconds = 30'000;

// Called by two threads. No state is reported after STOPPED.
void ReportState(DWORD state, const absl::Status& result = absl::OkStatus()) {
  absl::MutexLock lock(&the_service->mutex);
  if (the_service->is_stopped) return;
  the_service->is_stopped = state == SERVICE_STOPPED;
  SERVICE_STATUS status = {
      .dwServiceType = SERVICE_WIN32_OWN_PROCESS,
      .dwCurrentState = state,
      .dwControlsAccepted =
          state == SERVICE_RUNNING
              ? DWORD{SERVICE_ACCEPT_STOP | SERVICE_ACCEPT_SHUTDOWN}
              : 0,
      .dwWin32ExitCode =
          result.ok() ? DWORD{NO_ERROR} : DWORD{ERROR_SERVICE_SPECIFIC_ERROR},
      .dwServiceSpecificExitCode = result.ok() ? 0u : 1u,
      .dwWaitHint = state == SERVICE_STOP_PENDING ? kStopMilliseconds : 0};
  SetServiceStatus(the_service->status_handle, &status);
}

DWORD WINAPI OnControl(DWORD control, DWORD, void*, void*) {
  switch (control) {
    case SERVICE_CONTROL_STOP:
    case SERVICE_CONTROL_SHUTDOWN:
      ReportState(SERVICE_STOP_PENDING);
      the_service->stop->Raise();
      return NO_ERROR;
    case SERVICE_CONTROL_INTERROGATE:
      return NO_ERROR;
    default:
      return ERROR_CALL_NOT_IMPLEMENTED;
  }
}

void WINAPI ServiceMain(DWORD, wchar_t**) {
  Service& service = *the_service;
  service.status_handle =
      RegisterServiceCtrlHandlerExW(service.name.c_str(), OnControl, nullptr);
  ReportState(SERVICE_RUNNING);
  service.result = (*service.run)();
  if (!service.result.ok()) {
    WriteEvent(Utf8FromWide(service.name), EventType::kError,
               service.result.message());
  }
  ReportState(SERVICE_STOPPED, service.result);
}

}  // namespace

bool HasServiceManager() { return true; }

absl::Status RunAsService(const std::string& name, StopSignal& stop,
                          const std::function<absl::Status()>& run) {
  Service service;
  service.name = WideFromUtf8(name);
  service.stop = &stop;
  service.run = &run;
  the_service = &service;
  SERVICE_TABLE_ENTRYW table[] = {{service.name.data(), ServiceMain},
                                  {nullptr, nullptr}};
  if (StartServiceCtrlDispatcherW(table)) return service.result;
  return StatusFromWin32(
      GetLastError(), "the service control manager did not start this process");
}

void ReportToSystemd(absl::string_view) {}

std::optional<absl::Duration> SystemdWatchdogInterval() { return std::nullopt; }

}  // namespace fleetperf
