#include "base/os/access_windows.h"

#include <windows.h>
#include <sddl.h>

#include <string>

#include "base/os/files.h"
#include "base/os/service_account_windows.h"
#include "base/os/wide_windows.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// An access list made by hand: Wine keeps only what the mode of a Unix file
// has.
class AccessListTest : public ::testing::Test {
 protected:
  AccessListTest() {
    EXPECT_TRUE(InitializeAcl(list(), sizeof bytes_, ACL_REVISION));
  }

  // Adds an entry that is allowed, and changes its type.
  void Add(const wchar_t* account, DWORD rights,
           BYTE type = ACCESS_ALLOWED_ACE_TYPE, BYTE flags = 0) {
    PSID sid = nullptr;
    ASSERT_TRUE(ConvertStringSidToSidW(account, &sid));
    ASSERT_TRUE(AddAccessAllowedAce(list(), ACL_REVISION, rights, sid));
    LocalFree(sid);
    void* entry = nullptr;
    ASSERT_TRUE(GetAce(list(), list()->AceCount - 1u, &entry));
    static_cast<ACE_HEADER*>(entry)->AceType = type;
    static_cast<ACE_HEADER*>(entry)->AceFlags = flags;
  }

  // Returns the account's identifier, empty if there is none.
  std::string Find(DWORD rights) {
    void* const account = UntrustedAccountWith(rights, list());
    wchar_t* text = nullptr;
    if (account == nullptr || !ConvertSidToStringSidW(account, &text)) {
      return "";
    }
    std::string found = Utf8FromWide(text);
    LocalFree(text);
    return found;
  }

  PACL list() { return reinterpret_cast<PACL>(bytes_); }

 private:
  alignas(ACL) BYTE bytes_[1024];
};

using UntrustedAccountTest = AccessListTest;
using GrantsRunTest = AccessListTest;

constexpr wchar_t kEveryone[] = L"S-1-1-0";

TEST_F(UntrustedAccountTest, IgnoresTrustedAccountsAndOtherEntries) {
  Add(L"S-1-5-18", FILE_ALL_ACCESS);      // the system
  Add(L"S-1-5-32-544", FILE_ALL_ACCESS);  // administrators
  Add(L"S-1-3-4", FILE_ALL_ACCESS);       // the owner
  // The identifier of TrustedInstaller in Microsoft's documents.
  Add(L"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
      FILE_ALL_ACCESS);
  Add(kEveryone, FILE_GENERIC_READ);
  Add(kEveryone, FILE_WRITE_DATA, ACCESS_DENIED_ACE_TYPE);
  Add(kEveryone, FILE_WRITE_DATA, ACCESS_ALLOWED_ACE_TYPE, INHERIT_ONLY_ACE);
  EXPECT_EQ(Find(FILE_WRITE_DATA), "");
  Add(kEveryone, FILE_WRITE_DATA);
  EXPECT_EQ(Find(FILE_WRITE_DATA), "S-1-1-0");
}

TEST_F(UntrustedAccountTest, FindsConditionalEntries) {
  Add(L"S-1-5-18", FILE_ALL_ACCESS, ACCESS_ALLOWED_CALLBACK_ACE_TYPE);
  EXPECT_EQ(Find(FILE_WRITE_DATA), "");
  Add(kEveryone, FILE_WRITE_DATA, ACCESS_ALLOWED_CALLBACK_ACE_TYPE);
  EXPECT_EQ(Find(FILE_WRITE_DATA), "S-1-1-0");
  EXPECT_EQ(Find(WRITE_DAC), "");
}

// The list of a folder in a profile, then with other entries.
TEST_F(GrantsRunTest, CountsTheServiceAndGroupsOfAllServices) {
  auto service = FindServiceAccount("fleetperf-agent", "");
  ASSERT_OK(service);
  Add(L"S-1-5-18", FILE_ALL_ACCESS);      // the system
  Add(L"S-1-5-32-544", FILE_ALL_ACCESS);  // administrators
  Add(L"S-1-5-21-1-2-3-1001", FILE_ALL_ACCESS);
  Add(kEveryone, FILE_GENERIC_READ);
  Add(kEveryone, FILE_ALL_ACCESS, ACCESS_DENIED_ACE_TYPE);
  Add(kEveryone, FILE_ALL_ACCESS, ACCESS_ALLOWED_ACE_TYPE, INHERIT_ONLY_ACE);
  Add(kEveryone, FILE_ALL_ACCESS, ACCESS_ALLOWED_CALLBACK_ACE_TYPE);
  EXPECT_FALSE(GrantsRun(list(), service->psid()));
  const DWORD kReadAndRun = FILE_GENERIC_READ | FILE_GENERIC_EXECUTE;
  const WORD entries = list()->AceCount;
  for (const wchar_t* account :
       {L"S-1-5-32-545", L"S-1-5-11", L"S-1-5-6", kEveryone,
        L"S-1-5-80-3263513310-3392720605-1798839546-683002060-3227631582"}) {
    list()->AceCount = entries;
    Add(account, kReadAndRun);
    const bool is_other_service = account[6] == L'8';
    EXPECT_EQ(GrantsRun(list(), service->psid()), !is_other_service)
        << Utf8FromWide(account);
  }
}

// Others can run what is in C:\Program Files, but not what is in a profile.
TEST(CheckServiceCanRun, RefusesFilesOfTheirOwnerOnly) {
  const testing::TempDirectory directory;
  const std::string shared = directory.File("shared.exe");
  const std::string own = directory.File("own.exe");
  ASSERT_OK(WriteFile(shared, "MZ"));
  ASSERT_OK(WriteFile(own, "MZ", FileAccess::kOwnerOnly));
  PSID service = nullptr;
  ASSERT_TRUE(ConvertStringSidToSidW(
      WideFromUtf8(ServiceSid("fleetperf-agent")).c_str(), &service));
  EXPECT_OK(CheckServiceCanRun(shared, service));
  EXPECT_THAT(CheckServiceCanRun(own, service),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("cannot run " + own)));
  LocalFree(service);
}

}  // namespace
}  // namespace fleetperf
