#include <windows.h>
#include <aclapi.h>
#include <knownfolders.h>
#include <sddl.h>
#include <shlobj.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/access_windows.h"
#include "base/native_path.h"
#include "base/os_error.h"
#include "base/user_directory.h"
#include "base/wide_windows.h"

namespace fleetperf {
namespace {

// The rights to change a file, or the files of a directory.
constexpr ACCESS_MASK kChange = FILE_WRITE_DATA | FILE_APPEND_DATA |
                                FILE_DELETE_CHILD | DELETE | WRITE_DAC |
                                WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;

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

// Checks an entry of an access list. A list may only grant rights to change.
absl::Status CheckEntry(const std::string& path, ACCESS_ALLOWED_ACE* entry) {
  if (entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE ||
      (entry->Header.AceFlags & INHERIT_ONLY_ACE) != 0 ||
      (entry->Mask & kChange) == 0) {
    return absl::OkStatus();
  }
  // The owner is checked on its own.
  const PSID account = &entry->SidStart;
  if (IsTrustedAccount(account) ||
      IsWellKnownSid(account, WinCreatorOwnerRightsSid)) {
    return absl::OkStatus();
  }
  return Unprotected(path, AccountName(account));
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
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  const absl::Cleanup free_descriptor = [&] { LocalFree(descriptor); };
  PSID owner = nullptr;
  PACL list = nullptr;
  const DWORD error = GetNamedSecurityInfoW(
      NativePath(path).make_preferred().wstring().data(), SE_FILE_OBJECT,
      OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, nullptr,
      &list, nullptr, &descriptor);
  if (error != ERROR_SUCCESS) {
    return StatusFromWin32(
        error, absl::StrCat("cannot read the access list of ", path));
  }
  if (!IsTrustedAccount(owner)) return Unprotected(path, AccountName(owner));
  if (list == nullptr) return Unprotected(path, "everyone");
  for (DWORD i = 0; i < list->AceCount; ++i) {
    void* entry = nullptr;
    if (!GetAce(list, i, &entry)) continue;
    const absl::Status status =
        CheckEntry(path, static_cast<ACCESS_ALLOWED_ACE*>(entry));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace fleetperf
