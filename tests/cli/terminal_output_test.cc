// What a terminal gets, and what a pipe gets, of names from outside.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/text/printable.h"
#include "cli/output.h"
#include "cli/pdh_csv.h"

namespace fleetperf::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Sets the title of a window, clears the screen with a C1 character, reverses
// the text, and hides a character.
constexpr char kEvil[] =
    "web\x1B]0;evil\x07\x7F\xC2\x9B"
    "2J\u202Etxt\u200B";

// Returns all that `print` writes to standard output, which is `to`. The other
// end is `from`.
std::string Written(int from, int to, const std::function<void()>& print) {
  std::fflush(stdout);
  const int saved = dup(STDOUT_FILENO);
  dup2(to, STDOUT_FILENO);
  close(to);
  print();
  std::fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  std::string text;
  char buffer[4096];
  // A terminal without a writer is an error.
  for (ssize_t size; (size = read(from, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(size));
  }
  close(from);
  return text;
}

std::string OnTerminal(const std::function<void()>& print) {
  termios raw = {};
  cfmakeraw(&raw);
  int from = -1;
  int to = -1;
  EXPECT_EQ(openpty(&from, &to, nullptr, &raw, nullptr), 0);
  return Written(from, to, print);
}

std::string OnPipe(const std::function<void()>& print) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  return Written(ends[0], ends[1], print);
}

void PrintRecord(Format format) {
  const auto printer = MakePrinter(format);
  printer->Print({{.name = "instance", .value = std::string(kEvil)},
                  {.name = "value", .value = 2.5}});
  printer->Finish();
}

void PrintPdhCsvOf(const std::string& name) {
  v1::Series series;
  series.set_machine(name);
  series.set_path("\\System\\Processes");
  PdhCsv csv(absl::ZeroDuration());
  csv.Add(series, {.time = absl::UnixEpoch(), .value = 2});
  for (const std::string& line : csv.Lines()) PutLine(line, "\r\n");
}

// Whether all lines are printable.
bool IsSafe(const std::string& text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::ConsumeSuffix(&line, "\r");
    if (Printable(line) != line) return false;
  }
  return true;
}

TEST(TerminalOutput, HasNoControlCharacters) {
  for (const Format format : {Format::kTable, Format::kCsv, Format::kJson}) {
    const std::string text = OnTerminal([&] { PrintRecord(format); });
    EXPECT_THAT(text, HasSubstr("web"));
    EXPECT_THAT(text, HasSubstr("2.5"));
    EXPECT_TRUE(IsSafe(text)) << Printable(text);
  }
  const std::string pdh = OnTerminal([] { PrintPdhCsvOf(kEvil); });
  EXPECT_THAT(pdh, HasSubstr("web"));
  EXPECT_TRUE(IsSafe(pdh)) << Printable(pdh);
}

// Programs get the names as they are.
TEST(TerminalOutput, APipeGetsAllBytes) {
  EXPECT_EQ(OnPipe([] { PrintRecord(Format::kCsv); }),
            absl::StrCat("instance,value\n", kEvil, ",2.5\n"));
  EXPECT_THAT(OnPipe([] { PrintRecord(Format::kJson); }),
              HasSubstr("\u202Etxt\u200B"));
  EXPECT_THAT(OnPipe([] { PrintPdhCsvOf(kEvil); }), HasSubstr(kEvil));
  // Tables are for people.
  EXPECT_THAT(OnPipe([] { PrintRecord(Format::kTable); }),
              Not(HasSubstr("\u202E")));
}

// Anybody can name a process.
TEST(TerminalOutput, NamesAreNoFormulasInCsv) {
  const std::string text = OnPipe([] {
    const auto printer = MakePrinter(Format::kCsv);
    for (const std::string name :
         {"=1+1", "+1", "-1", "@SUM(1)", "\t=1", "a=1", ""}) {
      printer->Print({{.name = "instance", .value = name},
                      {.name = "value", .value = -2.5},
                      {.name = "-label", .value = int64_t{-1}}});
    }
    printer->Finish();
  });
  EXPECT_EQ(text,
            "instance,value,'-label\n"
            "'=1+1,-2.5,-1\n'+1,-2.5,-1\n'-1,-2.5,-1\n'@SUM(1),-2.5,-1\n"
            "'\t=1,-2.5,-1\na=1,-2.5,-1\n,-2.5,-1\n");
  EXPECT_THAT(OnPipe([] {
                MakePrinter(Format::kJson)
                    ->Print({{.name = "n", .value = std::string("=1")}});
              }),
              HasSubstr("\"=1\""));
}

}  // namespace
}  // namespace fleetperf::cli
