#include "base/os/detached_thread.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(DetachedThreadTest, FailsIfTheSystemStartsNoThread) {
  const testing::NoNewThreads no_new_threads;
  bool has_run = false;
  EXPECT_THAT(RunDetached([&] { has_run = true; }),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cannot start a thread")));
  EXPECT_FALSE(has_run);
}

}  // namespace
}  // namespace fleetperf
