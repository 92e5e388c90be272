#include "cli/path_hint.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/text/excerpt.h"
#include "base/text/suggest.h"

namespace fleetperf::cli {
namespace {

// Whether a text is not a path at all: paths start with a backslash,
// expressions also with a number, a parenthesis or a quote.
bool LacksBackslash(absl::string_view text) {
  if (!absl::StrContains(text, '\\')) return true;
  const char first = text.front();
  return !absl::StrContains("\\('\" ", first) && !absl::ascii_isdigit(first);
}

// Whether a path may have lost the second backslash of "\\machine": then its
// counterset would be followed by another counterset. The next backslash can
// also begin the next path of an expression.
bool MayLackMachine(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "\\") || absl::StartsWith(text, "\\")) {
    return false;
  }
  const size_t end = text.find('\\');
  const size_t instance = text.find('(');
  if (end == absl::string_view::npos || instance < end) return false;
  const size_t next = text.find('\\', end + 1);
  return next != absl::string_view::npos &&
         !absl::StrContains(" ('\"", text[next - 1]);
}

}  // namespace

std::string ShellHint(absl::string_view path) {
  if (path.empty() || (!LacksBackslash(path) && !MayLackMachine(path) &&
                       !absl::StrContains(path, "()\\"))) {
    return "";
  }
  std::string hint =
      "; the shell may have changed the path: write it in single quotes, as in "
      "'\\\\web-1\\System\\Processes'";
  if (!absl::StrContains(path, '\\')) {
    absl::StrAppend(&hint, ", or find one by everyday words: fleetperf find ",
                    ShellQuoted(Excerpt(path)));
  }
  return hint;
}

}  // namespace fleetperf::cli
