#include <unistd.h>

#include "base/progress.h"
#include "driver/pmc/terminal.h"

namespace fleetperf::pmc {

bool CanMoveCursor() { return isatty(STDOUT_FILENO) != 0 && !TerminalIsDumb(); }

}  // namespace fleetperf::pmc
