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

void StopSignal::Wait() { WaitForSingleObject(StopEvent(), INFINITE); }

void StopSignal::AcceptReload() {}

bool StopSignal::WaitForReload() {
  Wait();
  return false;
}

void StopSignal::Raise() { SetEvent(StopEvent()); }

}  // namespace fleetperf
