#include "cli/path_hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf::cli {
namespace {

using ::testing::HasSubstr;

TEST(ShellHint, IsForPathsThatAShellChanged) {
  // Without quotes, "\\System\\Processes" becomes the first of these; in double
  // quotes, "\\\\web-1\\System\\Processes" becomes the third.
  for (const char* path :
       {"SystemProcesses", "web-1\\System\\Processes",
        "\\web-1\\System\\Processes",
        "\\web-1\\Processor Information(_Total)\\% Processor Time",
        "\\Process V2()\\Thread Count",
        "\\web-1\\System\\Processes / \\web-1\\System\\Threads"}) {
    EXPECT_THAT(ShellHint(path), HasSubstr("in single quotes")) << path;
  }
  for (const char* path :
       {"", "\\System\\Processes", "\\\\web-1\\System\\Processes",
        "\\Process V2(a\\b)\\Thread Count",
        "100 - \\Processor Information(_Total)\\% Processor Time",
        "'\\System\\Processes' / 2", "\\System\\Processes / \\System\\Threads",
        "\\System\\Processes / (\\System\\Threads + 1)"}) {
    EXPECT_EQ(ShellHint(path), "") << path;
  }
}

TEST(ShellHint, NamesTheCommandThatFindsPathsByWords) {
  EXPECT_THAT(ShellHint("cpu usage"),
              HasSubstr("everyday words: fleetperf find 'cpu usage'"));
}

}  // namespace
}  // namespace fleetperf::cli
