#include <windows.h>

#include "base/daemon/daemon.h"
#include "base/log.h"
#include "base/os/detached_thread.h"

namespace fleetperf {
namespace {

HANDLE StopEvent() {
  static const HANDLE event = CreateEventW(nullptr, /*bManualReset=*/TRUE,
                                           /*bInitialState=*/FALSE, nullptr);
  return event;
}

BOOL WINAPI OnConsoleControl(DWORD control) {
  // Services receive this event for every user who logs off.
  if (control == CTRL_LOGOFF_EVENT) return TRUE;
  SetEvent(StopEvent());
  // When the console closes, Windows ends the process as soon as this function
  // returns, or after a few seconds.
  if (control == CTRL_CLOSE_EVENT) Sleep(INFINITE);
  return TRUE;
}

}  // namespace

StopSignal::StopSignal() {
  StopEvent();
  SetConsoleCtrlHandler(OnConsoleControl, TRUE);
}

absl::Status StopSignal::EndWithin(absl::Duration deadline) {
  return RunDetached([deadline] {
    WaitForSingleObject(StopEvent(), INFINITE);
    Sleep(static_cast<DWORD>(absl::ToInt64Milliseconds(deadline)));
    LogError("the process has not stopped within ",
             absl::FormatDuration(deadline), "; ending it now");
    TerminateProcess(GetCurrentProcess(), 1);
  });
}

void StopSignal::Wait() { WaitForSingleObject(StopEvent(), INFINITE); }

void StopSignal::AcceptReload() {}

bool StopSignal::WaitForReload() {
  Wait();
  return false;
}

StopSignal::Request StopSignal::WaitFor(absl::Duration timeout) {
  const DWORD time =
      timeout == absl::InfiniteDuration()
          ? INFINITE
          : static_cast<DWORD>(absl::ToInt64Milliseconds(timeout));
  return WaitForSingleObject(StopEvent(), time) == WAIT_OBJECT_0
             ? Request::kStop
             : Request::kNone;
}

void StopSignal::Raise() { SetEvent(StopEvent()); }

}  // namespace fleetperf
