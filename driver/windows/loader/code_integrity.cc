#include "driver/windows/loader/code_integrity.h"

#include <windows.h>
#include <winternl.h>

#include "absl/strings/str_cat.h"

namespace fleetperf {
namespace {

// SYSTEM_CODEINTEGRITY_INFORMATION of NtQuerySystemInformation.
struct CodeIntegrityInformation {
  ULONG size = sizeof(CodeIntegrityInformation);
  ULONG options = 0;
};
constexpr auto kCodeIntegrityInformation =
    static_cast<SYSTEM_INFORMATION_CLASS>(103);
constexpr ULONG kTestSigning = 0x02;
constexpr ULONG kMemoryIntegrity = 0x400;

ULONG QueryOptions() {
  using Query = NTSTATUS NTAPI(SYSTEM_INFORMATION_CLASS, void*, ULONG, ULONG*);
  auto* const query =
      reinterpret_cast<Query*>(reinterpret_cast<void*>(GetProcAddress(
          GetModuleHandleW(L"ntdll.dll"), "NtQuerySystemInformation")));
  CodeIntegrityInformation information;
  ULONG size = 0;
  if (query == nullptr || query(kCodeIntegrityInformation, &information,
                                sizeof information, &size) < 0) {
    return 0;
  }
  return information.options;
}

bool HasSecureBoot() {
  DWORD is_enabled = 0;
  DWORD size = sizeof is_enabled;
  return RegGetValueW(HKEY_LOCAL_MACHINE,
                      L"SYSTEM\\CurrentControlSet\\Control\\SecureBoot\\State",
                      L"UEFISecureBootEnabled", RRF_RT_REG_DWORD,
                      /*pdwType=*/nullptr, &is_enabled,
                      &size) == ERROR_SUCCESS &&
         is_enabled != 0;
}

const char* OnOrOff(bool is_on) { return is_on ? "on" : "off"; }

}  // namespace

CodeIntegrity QueryCodeIntegrity() {
  const ULONG options = QueryOptions();
  return {.test_signing = (options & kTestSigning) != 0,
          .memory_integrity = (options & kMemoryIntegrity) != 0,
          .secure_boot = HasSecureBoot()};
}

std::string Describe(const CodeIntegrity& integrity) {
  return absl::StrCat("test signing ", OnOrOff(integrity.test_signing),
                      ", Secure Boot ", OnOrOff(integrity.secure_boot),
                      ", memory integrity (HVCI) ",
                      OnOrOff(integrity.memory_integrity));
}

}  // namespace fleetperf
