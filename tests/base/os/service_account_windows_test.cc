#include "base/os/service_account_windows.h"

#include <windows.h>
#include <gtest/gtest.h>
#include <lmcons.h>
#include <sddl.h>

#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/os/wide_windows.h"
#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::StatusIs;

std::string TextOf(ServiceAccount account) {
  wchar_t* text = nullptr;
  if (!ConvertSidToStringSidW(account.psid(), &text)) return "";
  std::string utf8 = Utf8FromWide(text);
  LocalFree(text);
  return utf8;
}

TEST(FindServiceAccount, KnowsTheVirtualAccountByItsNames) {
  for (const char* name :
       {"", "NT SERVICE\\fleetperf-agent", "nt service\\Fleetperf-Agent"}) {
    ASSERT_OK_AND_ASSIGN(const ServiceAccount account,
                         FindServiceAccount("fleetperf-agent", name));
    EXPECT_TRUE(account.is_virtual) << name;
    EXPECT_EQ(TextOf(account), ServiceSid("fleetperf-agent")) << name;
  }
}

TEST(FindServiceAccount, LooksUpOtherAccounts) {
  wchar_t user[UNLEN + 1];
  DWORD size = std::size(user);
  ASSERT_TRUE(GetUserNameW(user, &size));
  ASSERT_OK_AND_ASSIGN(
      const ServiceAccount account,
      FindServiceAccount("fleetperf-agent",
                         absl::StrCat(".\\", Utf8FromWide(user))));
  EXPECT_FALSE(account.is_virtual);
  EXPECT_THAT(TextOf(account), HasSubstr("S-1-5-21-"));
  EXPECT_THAT(FindServiceAccount("fleetperf-agent", "NOWHERE\\nobody$")
                  .status()
                  .message(),
              HasSubstr("the service's account NOWHERE\\nobody$"));
}

TEST(StepsFor, GrantsLogonToAccountsOfADomainOnly) {
  for (const bool is_domain_controller : {false, true}) {
    EXPECT_FALSE(StepsFor(true, is_domain_controller).grant_service_logon);
    EXPECT_TRUE(StepsFor(false, is_domain_controller).grant_service_logon);
  }
}

TEST(StepsFor, NamesTheWayOutOnADomainController) {
  EXPECT_THAT(StepsFor(true, false).join_advice, IsEmpty());
  EXPECT_THAT(StepsFor(false, false).join_advice, IsEmpty());
  EXPECT_THAT(
      StepsFor(true, true).join_advice,
      AllOf(HasSubstr("domain controller"), HasSubstr("run as a gMSA")));
  EXPECT_THAT(
      StepsFor(false, true).join_advice,
      AllOf(HasSubstr("domain controller"),
            HasSubstr("make the account a member"), Not(HasSubstr("gMSA"))));
}

// The identifiers of Windows services.
TEST(ServiceSid, EqualsTheWindowsDerivation) {
  EXPECT_EQ(ServiceSid("TrustedInstaller"),
            "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464");
  EXPECT_EQ(ServiceSid("MSSQLSERVER"),
            "S-1-5-80-3880718306-3832830129-1677859214-2598158968-1052248003");
}

}  // namespace

}  // namespace fleetperf
