#include "base/access_windows.h"

#include <windows.h>
#include <aclapi.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/native_path.h"
#include "base/os_error.h"

namespace fleetperf {
namespace {

bool IsGroupOfServices(PSID sid) {
  constexpr WELL_KNOWN_SID_TYPE kGroups[] = {
      WinWorldSid, WinAuthenticatedUserSid, WinServiceSid, WinBuiltinUsersSid};
  return std::any_of(
      std::begin(kGroups), std::end(kGroups),
      [sid](WELL_KNOWN_SID_TYPE group) { return IsWellKnownSid(sid, group); });
}

}  // namespace

bool IsTrustedAccount(void* sid) {
  if (IsWellKnownSid(sid, WinBuiltinAdministratorsSid) ||
      IsWellKnownSid(sid, WinLocalSystemSid)) {
    return true;
  }
  HANDLE token;
  if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return false;
  const absl::Cleanup close_token = [token] { CloseHandle(token); };
  alignas(TOKEN_USER) BYTE user[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
  DWORD size;
  return GetTokenInformation(token, TokenUser, user, sizeof user, &size) &&
         EqualSid(sid, reinterpret_cast<TOKEN_USER*>(user)->User.Sid);
}

absl::Status CheckServiceCanRun(const std::string& path, void* account) {
  PSECURITY_DESCRIPTOR descriptor = nullptr;
  const absl::Cleanup free_descriptor = [&] { LocalFree(descriptor); };
  PACL list = nullptr;
  const DWORD error = GetNamedSecurityInfoW(
      NativePath(path).make_preferred().wstring().data(), SE_FILE_OBJECT,
      DACL_SECURITY_INFORMATION, nullptr, nullptr, &list, nullptr, &descriptor);
  if (error != ERROR_SUCCESS) {
    return StatusFromWin32(
        error, absl::StrCat("cannot read the access list of ", path));
  }
  if (list == nullptr) return absl::OkStatus();  // everyone has all rights
  constexpr ACCESS_MASK kRun = FILE_READ_DATA | FILE_EXECUTE;
  for (DWORD i = 0; i < list->AceCount; ++i) {
    void* found = nullptr;
    if (!GetAce(list, i, &found)) continue;
    auto* const entry = static_cast<ACCESS_ALLOWED_ACE*>(found);
    if (entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE ||
        (entry->Header.AceFlags & INHERIT_ONLY_ACE) != 0) {
      continue;
    }
    const bool grants = (entry->Mask & kRun) == kRun ||
                        (entry->Mask & (GENERIC_ALL | GENERIC_EXECUTE)) != 0;
    const PSID sid = &entry->SidStart;
    if (grants && (EqualSid(sid, account) || IsGroupOfServices(sid))) {
      return absl::OkStatus();
    }
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "the service's account cannot run ", path,
      "; move the executable to a folder that all users can read, such as "
      "C:\\Program Files\\fleetperf, and run setup there"));
}

}  // namespace fleetperf
