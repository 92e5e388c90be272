#include <windows.h>

#include "base/progress.h"
#include "driver/pmc/terminal.h"

namespace fleetperf::pmc {

bool CanMoveCursor() {
  const HANDLE console = GetStdHandle(STD_OUTPUT_HANDLE);
  DWORD mode;
  return GetConsoleMode(console, &mode) != 0 && !TerminalIsDumb() &&
         SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) !=
             0;
}

}  // namespace fleetperf::pmc
