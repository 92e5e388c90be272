// The terminal that standard output is, if it is one.

#ifndef FLEETPERF_AGGREGATOR_CLI_TERMINAL_H_
#define FLEETPERF_AGGREGATOR_CLI_TERMINAL_H_

#include <cstddef>
#include <functional>
#include <memory>

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

// Calls a function with each key that is typed, without a need for Enter, from
// a thread of its own. The terminal is as it was when this is destroyed.
class KeyReader {
 public:
  // Null if standard input is no terminal.
  static std::unique_ptr<KeyReader> Start(std::function<void(char)> on_key);
  virtual ~KeyReader() = default;
};

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_TERMINAL_H_
