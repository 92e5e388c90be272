#include "cli/terminal.h"

#include <cstdlib>

#include "base/progress.h"

namespace fleetperf::cli {

bool CanMoveCursor() { return IsTerminal() && !TerminalIsDumb(); }

bool CanColor() {
  const char* no_color = std::getenv("NO_COLOR");
  return CanMoveCursor() && (no_color == nullptr || *no_color == '\0');
}

}  // namespace fleetperf::cli
