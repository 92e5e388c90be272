#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "aggregator/cli/terminal.h"

namespace fleetperf::cli {

bool IsTerminal() { return isatty(STDOUT_FILENO) != 0; }

Size TerminalSize() {
  winsize size = {};
  if (!IsTerminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

// The variables themselves and not the C library's locale, which need not be
// installed on a machine that somebody has logged in to from another.
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
