#include <windows.h>

#include "base/daemon.h"

namespace fleetperf {
namespace {

HANDLE StopEvent() {
  static const HANDLE event = CreateEventW(nullptr, /*bManualReset=*/TRUE,
                                           /*bInitialState=*/FALSE, nullptr);
  return event;
}

BOOL WINAPI OnConsoleControl(DWORD control) {
  // Services hear of every user who logs off.
  if (control == CTRL_LOGOFF_EVENT) return TRUE;
  SetEvent(StopEvent());
  // When the console closes, the process ends as soon as this returns; it has a
  // few seconds until then.
  if (control == CTRL_CLOSE_EVENT) Sleep(INFINITE);
  return TRUE;
}

}  // namespace

StopSignal::StopSignal() {
  StopEvent();
  SetConsoleCtrlHandler(OnConsoleControl, TRUE);
}

void StopSignal::Wait() { WaitForSingleObject(StopEvent(), INFINITE); }

void StopSignal::AcceptReload() {}

bool StopSignal::WaitForReload() {
  Wait();
  return false;
}

void StopSignal::Raise() { SetEvent(StopEvent()); }

}  // namespace fleetperf
