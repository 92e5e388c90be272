#include <windows.h>

#include <thread>
#include <utility>

#include "cli/terminal.h"

namespace fleetperf::cli {
namespace {

// Enables UTF-8 and escape sequences on the console.
bool PrepareConsole() {
  const HANDLE console = GetStdHandle(STD_OUTPUT_HANDLE);
  DWORD mode;
  if (!GetConsoleMode(console, &mode)) return false;
  SetConsoleOutputCP(CP_UTF8);
  SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  return true;
}

class ConsoleKeys : public KeyReader {
 public:
  ConsoleKeys(HANDLE console, std::function<void(char)> on_key)
      : console_(console),
        stop_(CreateEventW(nullptr, /*bManualReset=*/TRUE, FALSE, nullptr)),
        thread_([this, on_key = std::move(on_key)] { Run(on_key); }) {}

  ~ConsoleKeys() override {
    SetEvent(stop_);
    thread_.join();
    CloseHandle(stop_);
  }

 private:
  void Run(const std::function<void(char)>& on_key) const {
    const HANDLE handles[] = {stop_, console_};
    while (WaitForMultipleObjects(2, handles, FALSE, INFINITE) ==
           WAIT_OBJECT_0 + 1) {
      INPUT_RECORD record;
      DWORD count = 0;
      if (!ReadConsoleInputW(console_, &record, 1, &count)) return;
      if (count == 0 || record.EventType != KEY_EVENT ||
          !record.Event.KeyEvent.bKeyDown) {
        continue;
      }
      const wchar_t key = record.Event.KeyEvent.uChar.UnicodeChar;
      if (key > 0 && key < 128) on_key(static_cast<char>(key));
    }
  }

  const HANDLE console_;
  const HANDLE stop_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<KeyReader> KeyReader::Start(std::function<void(char)> on_key) {
  const HANDLE console = GetStdHandle(STD_INPUT_HANDLE);
  DWORD mode;
  if (!GetConsoleMode(console, &mode)) return nullptr;
  return std::make_unique<ConsoleKeys>(console, std::move(on_key));
}

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

// Consoles show UTF-8, and programs that read files understand it.
Characters ShownCharacters() { return Characters::kUnicode; }

}  // namespace fleetperf::cli
