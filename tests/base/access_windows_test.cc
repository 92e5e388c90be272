#include "base/access_windows.h"

#include <windows.h>
#include <sddl.h>

#include "base/files.h"
#include "base/service_sid_windows.h"
#include "base/wide_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// Others can run what is in C:\Program Files, but not what is in a profile.
TEST(CheckServiceCanRun, RefusesFilesOfTheirOwnerOnly) {
  const testing::TempDirectory directory;
  const std::string shared = directory.File("shared.exe");
  const std::string own = directory.File("own.exe");
  ASSERT_OK(WriteFile(shared, "MZ"));
  ASSERT_OK(WriteFile(own, "MZ", FileAccess::kOwnerOnly));
  PSID service = nullptr;
  ASSERT_TRUE(ConvertStringSidToSidW(
      WideFromUtf8(ServiceSid("fleetperf-agent")).c_str(), &service));
  EXPECT_OK(CheckServiceCanRun(shared, service));
  EXPECT_THAT(CheckServiceCanRun(own, service),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("cannot run " + own)));
  LocalFree(service);
}

}  // namespace
}  // namespace fleetperf
