#include <windows.h>
#include <aclapi.h>
#include <knownfolders.h>
#include <sddl.h>
#include <shlobj.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/access_windows.h"
#include "base/os/native_path.h"
#include "base/os/os_error.h"
#include "base/os/user_directory.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

// The rights to change a file, or the files of a directory.
constexpr ACCESS_MASK kChange = FILE_WRITE_DATA | FILE_APPEND_DATA |
                                FILE_DELETE_CHILD | DELETE | WRITE_DAC |
                                WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
// The rights to put another directory in the place of one in this directory.
// DELETE, too, except of a drive.
constexpr ACCESS_MASK kReplace =
    FILE_DELETE_CHILD | WRITE_DAC | WRITE_OWNER | GENERIC_ALL;

std::string AccountName(PSID sid) {
  wchar_t name[256];
  wchar_t domain[256];
  DWORD name_size = std::size(name);
  DWORD domain_size = std::size(domain);
  SID_NAME_USE use;
  if (LookupAccountSidW(nullptr, sid, name, &name_size, domain, &domain_size,
                        &use)) {
    return Utf8FromWide(std::wstring(domain) + L"\\" + name);
  }
  wchar_t* text = nullptr;
  if (!ConvertSidToStringSidW(sid, &text)) return "another account";
  const absl::Cleanup free_text = [text] { LocalFree(text); };
  return Utf8FromWide(text);
}

absl::Status Unprotected(const std::string& path, const std::string& account) {
  return absl::PermissionDeniedError(absl::StrCat(
      path, " can be changed by ", account,
      "; remove that right, or use a directory of your own profile"));
}

// Checks that nobody else owns the file or directory or has one of `rights`.
absl::Status CheckRights(const std::filesystem::path& path, DWORD rights) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  const absl::Cleanup free_descriptor = [&] { LocalFree(descriptor); };
  PSID owner = nullptr;
  PACL list = nullptr;
  std::wstring name = path.wstring();
  const DWORD error = GetNamedSecurityInfoW(
      name.data(), SE_FILE_OBJECT,
      OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, nullptr,
      &list, nullptr, &descriptor);
  const std::string named = Utf8FromPath(path);
  if (error != ERROR_SUCCESS) {
    return StatusFromWin32(
        error, absl::StrCat("cannot read the access list of ", named));
  }
  if (!IsTrustedAccount(owner)) return Unprotected(named, AccountName(owner));
  if (list == nullptr) return Unprotected(named, "everyone");
  void* const account = UntrustedAccountWith(rights, list);
  return account == nullptr ? absl::OkStatus()
                            : Unprotected(named, AccountName(account));
}

}  // namespace

const char kUserConfigDirectory[] = "%APPDATA%/fleetperf";

std::string UserConfigDirectory() {
  wchar_t* folder = nullptr;
  const absl::Cleanup free_folder = [&] { CoTaskMemFree(folder); };
  if (SHGetKnownFolderPath(FOLDERID_RoamingAppData, 0, nullptr, &folder) !=
      S_OK) {
    return "";
  }
  return Utf8FromPath(NativePath(Utf8FromWide(folder)) / "fleetperf");
}

absl::Status CheckProtected(const std::string& path) {
  std::error_code error;
  std::filesystem::path checked =
      std::filesystem::absolute(NativePath(path), error).make_preferred();
  if (error) {
    return StatusFromErrorCode(error, absl::StrCat("cannot find ", path));
  }
  RETURN_IF_ERROR(CheckRights(checked, kChange));
  // Users often may not read the access lists of a share's directories, which
  // its administrators set.
  if (checked.native().starts_with(L"\\\\")) return absl::OkStatus();
  while (checked.has_relative_path()) {
    checked = checked.parent_path();
    RETURN_IF_ERROR(CheckRights(
        checked, checked.has_relative_path() ? kReplace | DELETE : kReplace));
  }
  return absl::OkStatus();
}

}  // namespace fleetperf
