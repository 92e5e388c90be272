#include <string>

#include "aggregator/cli/commands.h"
#include "base/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::cli {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(PkiInit, MakesTheDirectoryOnlyIfItSucceeds) {
  const testing::TempDirectory directory;
  const std::string pki = directory.File("a/pki");
  PkiFlags flags = {.directory = pki, .name = "test", .valid = "never"};
  EXPECT_THAT(PkiInit(flags), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("--valid")));
  EXPECT_FALSE(FileExists(directory.File("a")));
  flags.valid = "1h";
  EXPECT_OK(PkiInit(flags));
  EXPECT_TRUE(FileExists(pki + "/authority.key"));
}

}  // namespace
}  // namespace fleetperf::cli
