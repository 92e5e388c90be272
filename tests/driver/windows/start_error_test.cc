#include "driver/windows/loader/start_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Message(uint32_t error, const CodeIntegrity& integrity = {}) {
  return std::string(StartError(error, integrity).message());
}

TEST(StartError, ExplainsMissingSignatures) {
  constexpr uint32_t kInvalidImageHash = 577;
  EXPECT_THAT(Message(kInvalidImageHash),
              AllOf(HasSubstr("Microsoft has signed"),
                    HasSubstr("bcdedit /set testsigning on"),
                    Not(HasSubstr("Secure Boot"))));
  EXPECT_THAT(Message(kInvalidImageHash, {.secure_boot = true}),
              AllOf(HasSubstr("switch Secure Boot off"),
                    HasSubstr("bcdedit /set testsigning on")));
  EXPECT_THAT(Message(kInvalidImageHash, {.test_signing = true}),
              AllOf(HasSubstr("is not signed"), Not(HasSubstr("bcdedit"))));
}

TEST(StartError, ExplainsBlockedDrivers) {
  constexpr uint32_t kDriverBlocked = 1275;
  constexpr uint32_t kPolicyViolation = 4551;
  EXPECT_THAT(Message(kDriverBlocked, {.memory_integrity = true}),
              HasSubstr("memory integrity (HVCI)"));
  EXPECT_THAT(
      Message(kPolicyViolation),
      AllOf(HasSubstr("CodeIntegrity/Operational"), Not(HasSubstr("HVCI"))));
}

TEST(StartError, NamesTheNextStep) {
  EXPECT_EQ(StartError(5, {}).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(5), HasSubstr("administrator"));
  EXPECT_THAT(Message(2), HasSubstr("install it again"));
  EXPECT_THAT(Message(1058), HasSubstr("sc.exe config"));
  EXPECT_THAT(Message(31), HasSubstr("event log System"));
  EXPECT_TRUE(StartError(0, {}).ok());
}

}  // namespace
}  // namespace fleetperf
