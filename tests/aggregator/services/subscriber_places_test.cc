#include "aggregator/services/subscriber_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(SubscriberPlaces, ACallerMayHaveAQuarter) {
  SubscriberPlaces places(8);
  auto first = places.Enter("reader a");
  ASSERT_OK(first);
  const auto second = places.Enter("reader a");
  ASSERT_OK(second);
  EXPECT_THAT(places.Enter("reader a"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("has 2 subscriptions, the limit")));
  EXPECT_OK(places.Enter("reader b"));
  *first = nullptr;
  EXPECT_OK(places.Enter("reader a"));
}

TEST(SubscriberPlaces, ACallerMayHaveOne) {
  SubscriberPlaces places(1);
  const auto place = places.Enter("reader a");
  EXPECT_OK(place);
  EXPECT_OK(places.Enter("reader b"));
  EXPECT_FALSE(places.Enter("reader a").ok());
}

}  // namespace
}  // namespace fleetperf::aggregator
