#include <windows.h>

#include "aggregator/cli/terminal.h"

namespace fleetperf::cli {
namespace {

// Consoles show UTF-8 and obey escape sequences if they are asked to.
bool PrepareConsole() {
  const HANDLE console = GetStdHandle(STD_OUTPUT_HANDLE);
  DWORD mode;
  if (!GetConsoleMode(console, &mode)) return false;
  SetConsoleOutputCP(CP_UTF8);
  SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  return true;
}

}  // namespace

bool IsTerminal() {
  static const bool is_terminal = PrepareConsole();
  return is_terminal;
}

Size TerminalSize() {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (!IsTerminal() ||
      !GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info)) {
    return {};
  }
  return {
      .rows = static_cast<size_t>(info.srWindow.Bottom - info.srWindow.Top + 1),
      .columns =
          static_cast<size_t>(info.srWindow.Right - info.srWindow.Left + 1)};
}

// Consoles do; and files are read by programs that know UTF-8.
Characters ShownCharacters() { return Characters::kUnicode; }

}  // namespace fleetperf::cli
