#include "base/service_sid_windows.h"

#include <gtest/gtest.h>

namespace fleetperf {
namespace {

// The identifiers of Windows services.
TEST(ServiceSid, EqualsTheWindowsDerivation) {
  EXPECT_EQ(ServiceSid("TrustedInstaller"),
            "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464");
  EXPECT_EQ(ServiceSid("MSSQLSERVER"),
            "S-1-5-80-3880718306-3832830129-1677859214-2598158968-1052248003");
}

}  // namespace
}  // namespace fleetperf
