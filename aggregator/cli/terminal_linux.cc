#include <sys/ioctl.h>
#include <unistd.h>

#include "aggregator/cli/terminal.h"

namespace fleetperf::cli {

bool IsTerminal() { return isatty(STDOUT_FILENO) != 0; }

Size TerminalSize() {
  winsize size = {};
  if (!IsTerminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

}  // namespace fleetperf::cli
