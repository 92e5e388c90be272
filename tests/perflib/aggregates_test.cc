#include "perflib/aggregates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace fleetperf::perflib {
namespace {

using ::testing::StartsWith;

TEST(Aggregates, HaveTheirSources) {
  for (const AggregateName& name : AggregateNames()) {
    EXPECT_TRUE(IsAggregate({}, name.name));
    EXPECT_FALSE(name.used_by.empty()) << name.name;
    EXPECT_THAT(std::string(name.source),
                ::testing::AnyOf(StartsWith("https://learn.microsoft.com/"),
                                 StartsWith("perflib.h: ")))
        << name.name;
  }
}

TEST(Aggregates, AreComparedWithoutCase) {
  for (const char* name :
       {"_Total", "_total", "_Global_", "_GLOBAL_", "__Total__", "__total__",
        "0,_Total", "_Total/_Total", "a/b/_total"}) {
    EXPECT_TRUE(IsAggregate({}, name)) << name;
  }
  for (const char* name : {"", "Total", "_Total ", " _Total", "a_Total",
                           "_Total,0", "_Total#1", "_Global", "Global"}) {
    EXPECT_FALSE(IsAggregate({}, name)) << name;
  }
}

TEST(Aggregates, OfPartsEndInAName) {
  EXPECT_TRUE(EndsInAggregate("*,_Total"));
  EXPECT_TRUE(EndsInAggregate("?/_global_"));
  EXPECT_FALSE(EndsInAggregate("_Total"));
  EXPECT_FALSE(EndsInAggregate("*_Total"));
}

TEST(Aggregates, IncludeThoseOfThePlan) {
  CountersetRegistration registration;
  registration.aggregates = {"All *", "sum"};
  EXPECT_TRUE(IsAggregate(registration, "all queues"));
  EXPECT_TRUE(IsAggregate(registration, "Sum"));
  EXPECT_TRUE(IsAggregate(registration, "_Total"));
  EXPECT_FALSE(IsAggregate(registration, "all"));
}

}  // namespace
}  // namespace fleetperf::perflib
