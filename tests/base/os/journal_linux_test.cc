// Log lines on systemd's journal.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/logging.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

// Returns the log of one line of each level on standard error, a pipe here.
// `of_journal` returns the value of JOURNAL_STREAM for the pipe.
std::string LogToPipe(std::string (*of_journal)(const struct stat& pipe)) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const int standard_error = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  struct stat status;
  EXPECT_EQ(fstat(STDERR_FILENO, &status), 0);
  setenv("JOURNAL_STREAM", of_journal(status).c_str(), 1);
  EXPECT_OK(StartLogging("fleetperf-agent", {.level = "debug"}));
  spdlog::debug("a");
  spdlog::info("b");
  spdlog::warn("c");
  spdlog::error("d");
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  close(ends[1]);
  unsetenv("JOURNAL_STREAM");
  EXPECT_OK(StartLogging("test", {}));
  char text[1000];
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
}

// The numbers are those of syslog(3): LOG_DEBUG, LOG_INFO, LOG_WARNING,
// LOG_ERR.
TEST(Journal, GetsLevelsInsteadOfTimes) {
  EXPECT_EQ(LogToPipe([](const struct stat& pipe) {
              return absl::StrCat(pipe.st_dev, ":", pipe.st_ino);
            }),
            "<7>debug a\n<6>info b\n<4>warning c\n<3>error d\n");
}

TEST(Journal, IsNotAFileThatReplacedIt) {
  EXPECT_THAT(
      LogToPipe([](const struct stat& pipe) {
        return absl::StrCat(pipe.st_dev, ":", pipe.st_ino + 1);
      }),
      ::testing::ContainsRegex("^20..-..-..T.*Z debug fleetperf-agent: a\n20"));
}

}  // namespace
}  // namespace fleetperf
