#include "base/os/access_windows.h"

#include <windows.h>
#include <aclapi.h>
#include <sddl.h>

#include <algorithm>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/os/native_path.h"
#include "base/os/os_error.h"
#include "base/os/service_account_windows.h"
#include "base/os/wide_windows.h"

namespace fleetperf {
namespace {

bool IsGroupOfServices(PSID sid) {
  constexpr WELL_KNOWN_SID_TYPE kGroups[] = {
      WinWorldSid, WinAuthenticatedUserSid, WinServiceSid, WinBuiltinUsersSid};
  return std::any_of(
      std::begin(kGroups), std::end(kGroups),
      [sid](WELL_KNOWN_SID_TYPE group) { return IsWellKnownSid(sid, group); });
}

bool IsInstaller(PSID sid) {
  static const std::vector<BYTE>* const installer = [] {
    PSID made = nullptr;
    const absl::Cleanup free_sid = [&] { LocalFree(made); };
    auto* const bytes = new std::vector<BYTE>;
    if (ConvertStringSidToSidW(
            WideFromUtf8(ServiceSid("TrustedInstaller")).c_str(), &made)) {
      const auto* const begin = static_cast<BYTE*>(made);
      bytes->assign(begin, begin + GetLengthSid(made));
    }
    return bytes;
  }();
  return !installer->empty() &&
         EqualSid(sid, const_cast<BYTE*>(installer->data()));
}

// Entries of both types begin alike; the condition follows the account.
bool MayGrant(const ACE_HEADER& entry) {
  return (entry.AceType == ACCESS_ALLOWED_ACE_TYPE ||
          entry.AceType == ACCESS_ALLOWED_CALLBACK_ACE_TYPE) &&
         (entry.AceFlags & INHERIT_ONLY_ACE) == 0;
}

}  // namespace

bool IsTrustedAccount(void* sid) {
  if (IsWellKnownSid(sid, WinBuiltinAdministratorsSid) ||
      IsWellKnownSid(sid, WinLocalSystemSid) || IsInstaller(sid)) {
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

void* UntrustedAccountWith(uint32_t rights, void* list) {
  auto* const entries = static_cast<PACL>(list);
  for (DWORD i = 0; i < entries->AceCount; ++i) {
    void* found = nullptr;
    if (!GetAce(entries, i, &found)) continue;
    auto* const entry = static_cast<ACCESS_ALLOWED_ACE*>(found);
    const PSID account = &entry->SidStart;
    if (MayGrant(entry->Header) && (entry->Mask & rights) != 0 &&
        !IsTrustedAccount(account) &&
        !IsWellKnownSid(account, WinCreatorOwnerRightsSid)) {
      return account;
    }
  }
  return nullptr;
}

bool GrantsRun(void* list, void* account) {
  constexpr ACCESS_MASK kRun = FILE_READ_DATA | FILE_EXECUTE;
  auto* const entries = static_cast<PACL>(list);
  for (DWORD i = 0; i < entries->AceCount; ++i) {
    void* found = nullptr;
    if (!GetAce(entries, i, &found)) continue;
    auto* const entry = static_cast<ACCESS_ALLOWED_ACE*>(found);
    if (entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE ||
        (entry->Header.AceFlags & INHERIT_ONLY_ACE) != 0) {
      continue;
    }
    const bool grants = (entry->Mask & kRun) == kRun ||
                        (entry->Mask & (GENERIC_ALL | GENERIC_EXECUTE)) != 0;
    const PSID sid = &entry->SidStart;
    if (grants && (EqualSid(sid, account) || IsGroupOfServices(sid))) {
      return true;
    }
  }
  return false;
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
  if (GrantsRun(list, account)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "the service's account cannot run ", path,
      "; move the executable to a folder that all users can read, such as "
      "C:\\Program Files\\fleetperf, and run setup there"));
}

}  // namespace fleetperf
