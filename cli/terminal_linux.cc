#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "cli/terminal.h"

namespace fleetperf::cli {
namespace {

class TerminalKeys : public KeyReader {
 public:
  TerminalKeys(const termios& before, std::function<void(char)> on_key)
      : before_(before), stop_(eventfd(0, EFD_CLOEXEC)) {
    termios raw = before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    thread_ = std::thread([this, on_key = std::move(on_key)] { Run(on_key); });
  }

  ~TerminalKeys() override {
    const uint64_t one = 1;
    if (write(stop_, &one, sizeof one) == sizeof one) thread_.join();
    close(stop_);
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  void Run(const std::function<void(char)>& on_key) const {
    for (;;) {
      pollfd files[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                        {.fd = stop_, .events = POLLIN}};
      if (poll(files, 2, -1) < 0) continue;  // interrupted by a signal
      if (files[1].revents != 0) return;
      char key;
      // A background process may not read: it is stopped until it may.
      if (read(STDIN_FILENO, &key, 1) != 1) {
        pollfd stop = {.fd = stop_, .events = POLLIN};
        poll(&stop, 1, -1);
        return;
      }
      on_key(key);
    }
  }

  const termios before_;
  const int stop_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<KeyReader> KeyReader::Start(std::function<void(char)> on_key) {
  termios before;
  if (tcgetattr(STDIN_FILENO, &before) != 0) return nullptr;
  return std::make_unique<TerminalKeys>(before, std::move(on_key));
}

bool IsTerminal() { return isatty(STDOUT_FILENO) != 0; }

Size TerminalSize() {
  winsize size = {};
  if (!IsTerminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

// Reads the variables instead of the C library's locale, which may not be
// installed on a machine that is used through a remote login.
Characters ShownCharacters() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    const std::string lower = absl::AsciiStrToLower(locale);
    const bool is_utf8 =
        absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
    return is_utf8 ? Characters::kUnicode : Characters::kAscii;
  }
  return Characters::kAscii;
}

}  // namespace fleetperf::cli
