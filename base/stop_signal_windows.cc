#include <windows.h>

#include "base/daemon.h"

namespace fleetperf {
namespace {

HANDLE StopEvent() {
  static const HANDLE event = CreateEventW(nullptr, /*bManualReset=*/TRUE,
                                           /*bInitialState=*/FALSE, nullptr);
  return event;
}

// Ctrl-C, and the end of the console or the session.
BOOL WINAPI OnConsoleControl(DWORD) {
  SetEvent(StopEvent());
  return TRUE;
}

}  // namespace

StopSignal::StopSignal() {
  StopEvent();
  SetConsoleCtrlHandler(OnConsoleControl, TRUE);
}

void StopSignal::Wait() { WaitForSingleObject(StopEvent(), INFINITE); }

void StopSignal::Raise() { SetEvent(StopEvent()); }

}  // namespace fleetperf
