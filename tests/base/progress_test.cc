#include "base/progress.h"

#include <gtest/gtest.h>

namespace fleetperf {
namespace {

TEST(ProgressBar, FillsUp) {
  EXPECT_EQ(ProgressBar(0), "[....................]   0 %");
  EXPECT_EQ(ProgressBar(0.25), "[#####...............]  25 %");
  EXPECT_EQ(ProgressBar(0.999), "[###################.] 100 %");
  EXPECT_EQ(ProgressBar(1), "[####################] 100 %");
  EXPECT_EQ(ProgressBar(1.5), "[####################] 100 %");
}

TEST(ProgressText, ShowsActivityDurationAndAmount) {
  EXPECT_EQ(ProgressText("querying", absl::Milliseconds(2999), ""),
            "querying, 2 s");
  EXPECT_EQ(ProgressText("querying", absl::Seconds(3), "12000 values"),
            "querying, 3 s: 12000 values");
}

// The terminal output is tested end to end in tests/e2e/charts_test.cc.
TEST(Progress, PrintsNothingWithoutATerminal) {
  ::testing::internal::CaptureStderr();
  {
    Progress progress("querying");
    progress.Update("12000 values");
    progress.Print("a message\n");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "a message\n");
}

}  // namespace
}  // namespace fleetperf
