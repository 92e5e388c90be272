#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/os/user_directory.h"

namespace fleetperf {
namespace {

// Without a home directory, no directory of another user takes its place.
TEST(UserDirectory, IsInTheHomeDirectory) {
  const char* set = std::getenv("HOME");
  const std::string before = set != nullptr ? set : "";
  setenv("HOME", "/home/alice", 1);
  EXPECT_EQ(UserConfigDirectory(), "/home/alice/.config/fleetperf");
  unsetenv("HOME");
  EXPECT_EQ(UserConfigDirectory(), "");
  if (set != nullptr) setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace fleetperf
