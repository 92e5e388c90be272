// Tests of an aggregator whose wall clock jumps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/store/store.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/deployment.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::testing {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr absl::Duration kJump = absl::Hours(24 * 450);

TEST(Clock, ReportsJumpUntilConfirmed) {
  Deployment deployment;
  const TlsFiles tls = deployment.Issue("operator", {"alice"});
  const auto confirm = [&] {
    return deployment.Fleetperf(
        {"confirm-clock", "--certificate", tls.certificate, "--key", tls.key});
  };
  const auto status = [&] { return deployment.Json({"status"}).front(); };
  auto aggregator = deployment.StartAggregator();
  EXPECT_EQ(status()["clock"], "steady");
  EXPECT_TRUE(status()["clock_jump_seconds"].is_null());
  EXPECT_THAT(confirm().output, HasSubstr("nothing was on hold"));
  aggregator->Signal(SIGTERM);
  EXPECT_EQ(aggregator->Wait(), 0);

  {
    ASSERT_OK_AND_ASSIGN(const auto store, aggregator::OpenRocksDbStore(
                                               deployment.File("store")));
    const auto known = store->KnownTime();
    ASSERT_TRUE(known.has_value());
    ASSERT_OK(store->PutKnownTime(*known - kJump));
  }
  aggregator = deployment.StartAggregator();
  EXPECT_TRUE(aggregator->WaitForError("jumped ahead by 10800h"));
  const nlohmann::json held = status();
  EXPECT_EQ(held["clock"], "jumped");
  EXPECT_GE(held["clock_jump_seconds"], absl::ToDoubleSeconds(kJump));
  EXPECT_THAT(held["removal_held_seconds"].get<double>(),
              AllOf(Gt(0), Le(24 * 3600)));
  EXPECT_THAT(deployment.Fleetperf({"status"}).error,
              HasSubstr("nothing is removed or thinned by age"));
  const Result refused = deployment.Fleetperf({"confirm-clock"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.error, HasSubstr("requires the role operator"));
  EXPECT_EQ(status()["clock"], "jumped");

  EXPECT_THAT(confirm().output, HasSubstr("old samples are removed again"));
  EXPECT_EQ(status()["clock"], "steady");
  aggregator->Signal(SIGKILL);
  aggregator->Wait();
  aggregator = deployment.StartAggregator();
  EXPECT_EQ(status()["clock"], "steady");
}

}  // namespace
}  // namespace fleetperf::testing
