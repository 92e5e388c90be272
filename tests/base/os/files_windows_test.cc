// Properties of Windows files: access lists, open readers.

#include <windows.h>
#include <aclapi.h>
#include <sddl.h>

#include <string>

#include "base/os/files.h"
#include "base/os/wide_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FilesOnWindowsTest : public ::testing::Test {
 protected:
  // Returns the access list as SDDL.
  std::string AccessOf(const std::string& path) {
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    EXPECT_EQ(GetNamedSecurityInfoW(WideFromUtf8(path).c_str(), SE_FILE_OBJECT,
                                    DACL_SECURITY_INFORMATION, nullptr, nullptr,
                                    nullptr, nullptr, &descriptor),
              ERROR_SUCCESS);
    wchar_t* sddl = nullptr;
    EXPECT_TRUE(ConvertSecurityDescriptorToStringSecurityDescriptorW(
        descriptor, SDDL_REVISION_1, DACL_SECURITY_INFORMATION, &sddl,
        nullptr));
    const std::string text = sddl != nullptr ? Utf8FromWide(sddl) : "";
    LocalFree(sddl);
    LocalFree(descriptor);
    return text;
  }

  const testing::TempDirectory directory_;
  const std::string path_ = directory_.File("file");
};

TEST_F(FilesOnWindowsTest, ExplainsWhyAFileCannotBeRead) {
  EXPECT_THAT(ReadFile(path_).status().message(),
              HasSubstr("ERROR_FILE_NOT_FOUND (2)"));
  EXPECT_THAT(ReadFile(directory_.path()).status().message(),
              HasSubstr("ERROR_ACCESS_DENIED (5)"));
}

TEST_F(FilesOnWindowsTest, ReplacesAFileWithoutLeftovers) {
  ASSERT_OK(WriteFile(path_, "old"));
  ASSERT_OK(WriteFile(path_, "new contents"));
  EXPECT_EQ(ReadFile(path_).value(), "new contents");
  EXPECT_FALSE(FileExists(path_ + ".new"));
}

TEST_F(FilesOnWindowsTest, KeepsTheOldFileIfReplacingFails) {
  ASSERT_OK(WriteFile(path_, "old"));
  const HANDLE reader =
      CreateFileW(WideFromUtf8(path_).c_str(), GENERIC_READ, FILE_SHARE_READ,
                  nullptr, OPEN_EXISTING, 0, nullptr);
  ASSERT_NE(reader, INVALID_HANDLE_VALUE);
  EXPECT_THAT(WriteFile(path_, "new").message(),
              AllOf(HasSubstr("cannot replace"), HasSubstr(path_)));
  CloseHandle(reader);
  EXPECT_EQ(ReadFile(path_).value(), "old");
  EXPECT_FALSE(FileExists(path_ + ".new"));
}

TEST_F(FilesOnWindowsTest, TakesNamesInAnyScript) {
  const std::string path = directory_.File("z\xc3\xa4hler-\xe6\x95\xb0");
  ASSERT_OK(WriteFile(path, "text"));
  EXPECT_TRUE(FileExists(path));
  EXPECT_EQ(ReadFile(path).value(), "text");
}

TEST_F(FilesOnWindowsTest, KeepsKeysFromOthers) {
  ASSERT_OK(WriteFile(path_, "secret", FileAccess::kOwnerOnly));
  // Grants access to the system, but not to everyone or users.
  EXPECT_THAT(AccessOf(path_),
              AllOf(HasSubstr(";;;SY)"), Not(HasSubstr(";;;WD)")),
                    Not(HasSubstr(";;;BU)"))));
}

}  // namespace
}  // namespace fleetperf
