#include "base/os/systemd_credential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

class SystemdCredentialTest : public ::testing::Test {
 protected:
  SystemdCredentialTest() {
    setenv("CREDENTIALS_DIRECTORY", directory_.path().c_str(), 1);
  }
  ~SystemdCredentialTest() override { unsetenv("CREDENTIALS_DIRECTORY"); }

  const testing::TempDirectory directory_;
};

TEST_F(SystemdCredentialTest, ReplacesTheFileOfItsName) {
  ASSERT_OK(WriteFile(directory_.File("agent.key"), "secret"));
  EXPECT_EQ(FindCredential("/etc/fleetperf/agent.key"),
            directory_.File("agent.key"));
  EXPECT_EQ(FindCredential("agent.key"), directory_.File("agent.key"));
  EXPECT_EQ(FindCredential("/etc/fleetperf/other.key"),
            "/etc/fleetperf/other.key");
}

TEST_F(SystemdCredentialTest, IsInTheDirectory) {
  EXPECT_TRUE(IsCredential(directory_.File("agent.key")));
  EXPECT_FALSE(IsCredential(directory_.path() + "-other/agent.key"));
  EXPECT_FALSE(IsCredential("/etc/fleetperf/agent.key"));
}

TEST(SystemdCredential, IsAbsentWithoutSystemd) {
  unsetenv("CREDENTIALS_DIRECTORY");
  EXPECT_EQ(FindCredential("/etc/fleetperf/agent.key"),
            "/etc/fleetperf/agent.key");
  EXPECT_FALSE(IsCredential("/agent.key"));
}

}  // namespace
}  // namespace fleetperf
