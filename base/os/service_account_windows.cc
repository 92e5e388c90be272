#include "base/os/service_account_windows.h"

#include <windows.h>
#include <lm.h>
#include <ntsecapi.h>
#include <openssl/sha.h>
#include <sddl.h>

#include <cstdint>
#include <cstring>
#include <iterator>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/os/os_error.h"
#include "base/os/wide_windows.h"
#include "base/status_macros.h"

namespace fleetperf {
namespace {

// The group Performance Monitor Users; its name depends on the Windows
// language.
constexpr char kCounterReaders[] = "S-1-5-32-558";

absl::Status LastError(absl::string_view what) {
  return StatusFromWin32(GetLastError(), what);
}

absl::StatusOr<std::vector<unsigned char>> SidFrom(const std::string& text) {
  PSID sid = nullptr;
  const absl::Cleanup free_sid = [&] { LocalFree(sid); };
  if (!ConvertStringSidToSidW(WideFromUtf8(text).c_str(), &sid)) {
    return LastError("cannot make a security identifier");
  }
  const auto* const bytes = static_cast<unsigned char*>(sid);
  return std::vector<unsigned char>(bytes, bytes + GetLengthSid(sid));
}

absl::Status GrantServiceLogon(PSID account) {
  LSA_OBJECT_ATTRIBUTES attributes = {};
  LSA_HANDLE policy = nullptr;
  NTSTATUS status =
      LsaOpenPolicy(nullptr, &attributes,
                    POLICY_LOOKUP_NAMES | POLICY_CREATE_ACCOUNT, &policy);
  if (status == 0) {
    wchar_t name[] = L"SeServiceLogonRight";
    LSA_UNICODE_STRING right = {.Length = sizeof name - sizeof(wchar_t),
                                .MaximumLength = sizeof name,
                                .Buffer = name};
    status = LsaAddAccountRights(policy, account, &right, 1);
    LsaClose(policy);
  }
  return StatusFromWin32(
      LsaNtStatusToWinError(status),
      "cannot grant the service's account the right to log on as a service");
}

bool IsDomainController() {
  OSVERSIONINFOEXW wanted = {.dwOSVersionInfoSize = sizeof wanted,
                             .wProductType = VER_NT_DOMAIN_CONTROLLER};
  return VerifyVersionInfoW(
      &wanted, VER_PRODUCT_TYPE,
      VerSetConditionMask(0, VER_PRODUCT_TYPE, VER_EQUAL));
}

absl::StatusOr<std::wstring> CounterReaders() {
  ASSIGN_OR_RETURN(std::vector<unsigned char> sid, SidFrom(kCounterReaders));
  wchar_t name[256];
  wchar_t domain[256];
  DWORD name_size = std::size(name);
  DWORD domain_size = std::size(domain);
  SID_NAME_USE use;
  if (!LookupAccountSidW(nullptr, sid.data(), name, &name_size, domain,
                         &domain_size, &use)) {
    return LastError("cannot find the group Performance Monitor Users");
  }
  return std::wstring(name);
}

absl::Status JoinCounterReaders(PSID account, absl::string_view advice) {
  ASSIGN_OR_RETURN(const std::wstring group, CounterReaders());
  LOCALGROUP_MEMBERS_INFO_0 member = {.lgrmi0_sid = account};
  const DWORD error = NetLocalGroupAddMembers(
      nullptr, group.c_str(), 0, reinterpret_cast<BYTE*>(&member), 1);
  if (error == ERROR_MEMBER_IN_ALIAS) return absl::OkStatus();
  return StatusFromWin32(
      error,
      absl::StrCat("cannot add the service as a member of the group ",
                   Utf8FromWide(group), advice.empty() ? "" : "; ", advice));
}

}  // namespace

absl::StatusOr<ServiceAccount> FindServiceAccount(absl::string_view service,
                                                  const std::string& name) {
  ServiceAccount account;
  if (name.empty() ||
      absl::EqualsIgnoreCase(name, absl::StrCat("NT SERVICE\\", service))) {
    ASSIGN_OR_RETURN(account.sid, SidFrom(ServiceSid(service)));
    return account;
  }
  account.is_virtual = false;
  account.sid.resize(SECURITY_MAX_SID_SIZE);
  DWORD size = SECURITY_MAX_SID_SIZE;
  wchar_t domain[256];
  DWORD domain_size = std::size(domain);
  SID_NAME_USE use;
  // "." is this machine in the names of services' accounts only.
  const std::string searched =
      absl::StartsWith(name, ".\\") ? name.substr(2) : name;
  if (!LookupAccountNameW(nullptr, WideFromUtf8(searched).c_str(),
                          account.psid(), &size, domain, &domain_size, &use)) {
    return LastError(absl::StrCat("cannot find the service's account ", name));
  }
  return account;
}

// The groups of a domain controller are those of the domain, which have no
// accounts of one machine.
AccountSteps StepsFor(bool is_virtual, bool is_domain_controller) {
  if (is_virtual) {
    return {.grant_service_logon = false,
            .join_advice =
                is_domain_controller
                    ? "this is a domain controller: let the service run as a "
                      "gMSA that is a member of the domain's group"
                    : ""};
  }
  return {.grant_service_logon = true,
          .join_advice =
              is_domain_controller
                  ? "this is a domain controller: make the account a member of "
                    "the domain's group, as an administrator of the domain"
                  : ""};
}

std::vector<absl::Status> PrepareServiceAccount(ServiceAccount* account) {
  const AccountSteps steps =
      StepsFor(account->is_virtual, IsDomainController());
  std::vector<absl::Status> failed;
  const auto note = [&failed](const absl::Status& status) {
    if (!status.ok()) failed.push_back(status);
  };
  if (steps.grant_service_logon) note(GrantServiceLogon(account->psid()));
  note(JoinCounterReaders(account->psid(), steps.join_advice));
  return failed;
}

absl::Status RevokeCounterRights(ServiceAccount* account) {
  ASSIGN_OR_RETURN(const std::wstring group, CounterReaders());
  LOCALGROUP_MEMBERS_INFO_0 member = {.lgrmi0_sid = account->psid()};
  const DWORD error = NetLocalGroupDelMembers(
      nullptr, group.c_str(), 0, reinterpret_cast<BYTE*>(&member), 1);
  if (error == ERROR_MEMBER_NOT_IN_ALIAS) return absl::OkStatus();
  return StatusFromWin32(
      error, absl::StrCat("cannot remove the service as a member of the group ",
                          Utf8FromWide(group)));
}

std::string ServiceSid(absl::string_view service) {
  std::string utf16;
  for (const char c : service) {
    utf16.push_back(absl::ascii_toupper(static_cast<unsigned char>(c)));
    utf16.push_back('\0');
  }
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(utf16.data()), utf16.size(),
       digest);
  std::string sid = "S-1-5-80";
  for (size_t i = 0; i < SHA_DIGEST_LENGTH; i += sizeof(uint32_t)) {
    uint32_t number;
    std::memcpy(&number, digest + i, sizeof number);
    absl::StrAppend(&sid, "-", number);
  }
  return sid;
}

}  // namespace fleetperf
