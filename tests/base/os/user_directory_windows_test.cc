#include <windows.h>
#include <aclapi.h>
#include <sddl.h>

#include <string>

#include "base/os/files.h"
#include "base/os/native_path.h"
#include "base/os/user_directory.h"
#include "base/os/wide_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST(UserDirectory, IsInTheProfile) {
  EXPECT_THAT(UserConfigDirectory(), EndsWith("/AppData/Roaming/fleetperf"));
  EXPECT_TRUE(NativePath(UserConfigDirectory()).is_absolute());
}

// Sets the access list in SDDL.
void Protect(const std::string& path, const wchar_t* sddl) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  ASSERT_TRUE(ConvertStringSecurityDescriptorToSecurityDescriptorW(
      sddl, SDDL_REVISION_1, &descriptor, nullptr));
  PACL list = nullptr;
  BOOL present = FALSE;
  BOOL defaulted = FALSE;
  ASSERT_TRUE(
      GetSecurityDescriptorDacl(descriptor, &present, &list, &defaulted));
  std::wstring name = NativePath(path).make_preferred().wstring();
  ASSERT_EQ(SetNamedSecurityInfoW(
                name.data(), SE_FILE_OBJECT,
                DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
                nullptr, nullptr, list, nullptr),
            DWORD{ERROR_SUCCESS});
  LocalFree(descriptor);
}

TEST(UserDirectory, IsRefusedIfOthersCanChangeIt) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("config.yaml");
  EXPECT_THAT(CheckProtected(path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path)));
  ASSERT_OK(WriteFile(path, "aggregators: evil:7443"));
  // Everyone may read.
  Protect(path, L"D:P(A;;FA;;;BA)(A;;FA;;;SY)(A;;FA;;;OW)(A;;FR;;;WD)");
  EXPECT_OK(CheckProtected(path));
  Protect(path, L"D:P(A;;FA;;;BA)(A;;FA;;;SY)(A;;FA;;;OW)(A;;FRFW;;;WD)");
  EXPECT_THAT(CheckProtected(path),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr(path + " can be changed by ")));
}

TEST(UserDirectory, IsRefusedIfOthersCanReplaceAParent) {
  const testing::TempDirectory directory;
  const std::string parent = directory.File("parent");
  const std::string path = directory.File("parent/pki");
  ASSERT_OK(MakeDirectories(path));
  constexpr wchar_t kOwn[] = L"D:P(A;;FA;;;BA)(A;;FA;;;SY)(A;;FA;;;OW)";
  Protect(path, kOwn);
  Protect(parent, kOwn);
  EXPECT_OK(CheckProtected(path));
  Protect(parent, L"D:P(A;;FA;;;BA)(A;;FA;;;SY)(A;;FA;;;OW)(A;;FA;;;WD)");
  EXPECT_THAT(CheckProtected(path),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr(parent + " can be changed by ")));
}

TEST(MakeProtectedDirectory, LeavesNothingIfRefused) {
  const testing::TempDirectory directory;
  const std::string parent = directory.File("parent");
  ASSERT_OK(MakeDirectories(parent));
  Protect(parent,
          L"D:P(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;OICI;FA;;;OW)"
          L"(A;OICI;FA;;;WD)");
  EXPECT_THAT(MakeProtectedDirectory(directory.File("parent/a/pki")),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("can be changed by")));
  EXPECT_FALSE(FileExists(directory.File("parent/a")));
  EXPECT_TRUE(FileExists(parent));
  const std::string path = directory.File("own/pki");
  EXPECT_OK(MakeProtectedDirectory(path));
  EXPECT_OK(MakeProtectedDirectory(path));
  EXPECT_TRUE(FileExists(path));
}

}  // namespace
}  // namespace fleetperf
