#include "base/server/call_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/simulated_clock.h"

namespace fleetperf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kMaxCalls =
    kDefaultLimits[static_cast<size_t>(Pool::kCalls)].of_caller;

class CallTableTest : public ::testing::Test {
 protected:
  // `call` is any number.
  static CallTable::Call Id(uintptr_t call) {
    return reinterpret_cast<CallTable::Call>(call);
  }
  void Begin(uintptr_t call, const std::string& caller) {
    table_.Begin(Id(call), caller, [this](const std::string& message) {
      cancelled_.push_back(message);
    });
  }
  void Pass(absl::Duration duration) {
    clock_.Advance(duration);
    table_.CancelStalled();
  }

  testing::SimulatedClock clock_;
  CallerQuota quota_{&clock_};
  CallTable table_{&quota_, &clock_};
  std::vector<std::string> cancelled_;
};

TEST_F(CallTableTest, LimitsTheCallsOfACaller) {
  for (uintptr_t call = 1; call <= kMaxCalls; ++call) {
    Begin(call, "reader a");
  }
  EXPECT_THAT(cancelled_, IsEmpty());
  Begin(1000, "reader a");
  EXPECT_THAT(cancelled_, ElementsAre(HasSubstr("32 calls in progress")));
  Begin(1001, "reader b");
  EXPECT_THAT(cancelled_, SizeIs(1));
  EXPECT_EQ(table_.counts().refused, 1u);
  EXPECT_EQ(table_.counts().calls, kMaxCalls + 2);
  table_.End(Id(1000));
  table_.End(Id(1));
  Begin(1002, "reader a");
  EXPECT_THAT(cancelled_, SizeIs(1));
}

TEST_F(CallTableTest, CancelsACallThatNeverWorks) {
  Begin(1, "reader a");
  Pass(kMaxCallWait);
  EXPECT_THAT(cancelled_, IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(cancelled_, ElementsAre(HasSubstr("waiting for 30s;")));
  // Once, also if the call does not end at once.
  Pass(kMaxCallWait * 2);
  EXPECT_THAT(cancelled_, SizeIs(1));
  EXPECT_EQ(table_.counts().stalled, 1u);
  table_.End(Id(1));
  EXPECT_EQ(table_.counts().calls, 0u);
}

TEST_F(CallTableTest, DoesNotLimitWork) {
  Begin(1, "reader a");
  table_.Work(Id(1));
  Pass(absl::Hours(1));
  EXPECT_THAT(cancelled_, IsEmpty());
  // Sending the status is a wait, too.
  table_.Wait(Id(1));
  Pass(kMaxCallWait + absl::Seconds(1));
  EXPECT_THAT(cancelled_, SizeIs(1));
}

TEST_F(CallTableTest, LimitsTheSumOfTheWaits) {
  Begin(1, "reader a");
  for (int i = 0; i < 4; ++i) {
    Pass(kMaxCallWait);
    table_.Work(Id(1));
    Pass(absl::Hours(1));
    table_.Wait(Id(1));
  }
  EXPECT_THAT(cancelled_, IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(cancelled_, ElementsAre(HasSubstr("waiting for 2m in all")));
}

TEST_F(CallTableTest, ForgetsCallsThatEnded) {
  Begin(1, "reader a");
  table_.End(Id(1));
  table_.End(Id(1));
  table_.Work(Id(1));
  table_.Wait(Id(1));
  Pass(absl::Hours(1));
  EXPECT_THAT(cancelled_, IsEmpty());
}

}  // namespace
}  // namespace fleetperf
