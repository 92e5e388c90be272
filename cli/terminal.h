// The terminal on standard output, if there is one.

#ifndef FLEETPERF_CLI_TERMINAL_H_
#define FLEETPERF_CLI_TERMINAL_H_

#include <cstddef>
#include <functional>
#include <memory>

namespace fleetperf::cli {

bool IsTerminal();

// Whether the terminal can move its cursor: not with TERM=dumb.
bool CanMoveCursor();
// Whether the output may be colored: not with NO_COLOR (no-color.org) either.
bool CanColor();

struct Size {
  size_t rows = 0;  // 0: not a terminal, no limit
  size_t columns = 0;
};
Size TerminalSize();

enum class Characters { kAscii, kUnicode };

// Returns the characters that standard output can show, by the locale. Also
// valid if standard output is not a terminal.
Characters ShownCharacters();

// Calls a function for each key typed, without waiting for Enter, on a thread
// of its own. The destructor restores the terminal.
class KeyReader {
 public:
  // Returns null if standard input is not a terminal.
  static std::unique_ptr<KeyReader> Start(std::function<void(char)> on_key);
  virtual ~KeyReader() = default;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_TERMINAL_H_
