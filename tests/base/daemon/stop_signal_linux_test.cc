#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "absl/synchronization/notification.h"
#include "base/daemon/daemon.h"
#include "base/logging.h"

namespace fleetperf {
namespace {

// Each test runs in a process of its own, because signals are the process's.
class StopSignalDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void Hang() {
  absl::Notification never;
  never.WaitForNotification();
  std::abort();
}

TEST_F(StopSignalDeathTest, EndsAProcessThatDoesNotStop) {
  EXPECT_EXIT(
      {
        StopSignal stop;
        StartLogging("test", LogConfig()).IgnoreError();
        stop.EndWithin(absl::Milliseconds(10)).IgnoreError();
        stop.Raise();
        stop.Wait();
        Hang();
      },
      ::testing::ExitedWithCode(1), "has not stopped within 10ms");
}

TEST_F(StopSignalDeathTest, EndsAProcessThatHangsBeforeItWaits) {
  EXPECT_EXIT(
      {
        StopSignal stop;
        StartLogging("test", LogConfig()).IgnoreError();
        stop.EndWithin(absl::Milliseconds(10)).IgnoreError();
        stop.Raise();
        Hang();
      },
      ::testing::ExitedWithCode(1), "has not stopped within 10ms");
}

TEST_F(StopSignalDeathTest, LetsAProcessStopInTime) {
  EXPECT_EXIT(
      {
        StopSignal stop;
        stop.EndWithin(absl::Hours(1)).IgnoreError();
        stop.Raise();
        stop.Wait();
        stop.Wait();  // also later
        std::_Exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

TEST_F(StopSignalDeathTest, ReloadsBeforeItStops) {
  EXPECT_EXIT(
      {
        StopSignal stop;
        stop.AcceptReload();
        kill(getpid(), SIGHUP);
        if (!stop.WaitForReload()) std::_Exit(1);
        stop.Raise();
        std::_Exit(stop.WaitForReload() ? 2 : 7);
      },
      ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace fleetperf
