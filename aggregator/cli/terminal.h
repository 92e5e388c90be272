// The terminal that standard output is, if it is one.

#ifndef FLEETPERF_AGGREGATOR_CLI_TERMINAL_H_
#define FLEETPERF_AGGREGATOR_CLI_TERMINAL_H_

#include <cstddef>

namespace fleetperf::cli {

bool IsTerminal();

struct Size {
  size_t rows = 0;  // 0: not a terminal; there is no limit
  size_t columns = 0;
};
Size TerminalSize();

enum class Characters { kAscii, kUnicode };

// What standard output's reader can show, by the locale; also of no terminal.
Characters ShownCharacters();

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_TERMINAL_H_
