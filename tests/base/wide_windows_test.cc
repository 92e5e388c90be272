#include "base/wide_windows.h"

#include <gmock/gmock.h>

namespace fleetperf {
namespace {

using ::testing::ElementsAre;

// No code page of Windows has these characters together.
TEST(SplitCommandLine, KeepsAllCharacters) {
  EXPECT_THAT(
      SplitCommandLine(L"\"C:\\Program Files\\fleetperf.exe\" query "
                       L"\"\\\\Gr\u00F6\u00DFe(\u540D\u524D)\\\u0416 *\" x"),
      ElementsAre("C:\\Program Files\\fleetperf.exe", "query",
                  "\\\\Gr\xC3\xB6\xC3\x9F"
                  "e(\xE5\x90\x8D\xE5\x89\x8D)\\\xD0\x96 *",
                  "x"));
}

}  // namespace
}  // namespace fleetperf
