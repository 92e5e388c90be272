#include "base/os/wide_windows.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

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

TEST(LongPath, IsAbsoluteWithThePrefix) {
  const struct {
    const char* path;
    std::wstring expected;
  } kCases[] = {
      {"C:/log/../\xC3\xA4/agent.log", L"\\\\?\\C:\\\u00E4\\agent.log"},
      {"C:\\a\\", L"\\\\?\\C:\\a\\"},
      {"//server/share/a.log", L"\\\\?\\UNC\\server\\share\\a.log"},
      {"\\\\?\\C:\\a.log", L"\\\\?\\C:\\a.log"},
      {"\\\\.\\pipe\\a", L"\\\\.\\pipe\\a"},
      {"a/b.log",
       L"\\\\?\\" + std::filesystem::current_path().wstring() + L"\\a\\b.log"},
      {"", L""},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(LongPath(test.path), test.expected) << test.path;
  }
  const std::string name(1000, 'x');
  EXPECT_EQ(LongPath("C:/" + name), L"\\\\?\\C:\\" + WideFromUtf8(name));
}

}  // namespace
}  // namespace fleetperf
