// The forms of TZ that --local reads.

#include "cli/local_zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace fleetperf::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns noon UTC of this day in the zone, as "13:00 CET".
std::string Noon(const std::string& tz, int month, int day, int year = 2026) {
  const auto zone = ZoneOf(tz);
  if (!zone.ok()) return std::string(zone.status().message());
  return absl::FormatTime("%H:%M %Z",
                          absl::FromCivil(absl::CivilHour(year, month, day, 12),
                                          absl::UTCTimeZone()),
                          *zone);
}

TEST(ZoneOf, ReadsThePosixForm) {
  const std::string berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
  EXPECT_EQ(Noon(berlin, 1, 15), "13:00 CET");
  EXPECT_EQ(Noon(berlin, 7, 15), "14:00 CEST");
  // The last Sunday of March.
  EXPECT_EQ(Noon(berlin, 3, 28), "13:00 CET");
  EXPECT_EQ(Noon(berlin, 3, 29), "14:00 CEST");
  EXPECT_EQ(Noon(berlin, 7, 15, 1999), "14:00 CEST");
  // Summer is in January.
  const std::string sydney = "AEST-10AEDT,M10.1.0,M4.1.0/3";
  EXPECT_EQ(Noon(sydney, 1, 15), "23:00 AEDT");
  EXPECT_EQ(Noon(sydney, 7, 15), "22:00 AEST");
  EXPECT_EQ(Noon("<+0330>-3:30", 7, 15), "15:30 +0330");
  EXPECT_EQ(Noon(":XYZ5", 7, 15), "07:00 XYZ");
  EXPECT_EQ(Noon("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 7, 15), "11:00 -01");
  // The rule of the United States if there is none.
  EXPECT_EQ(Noon("XYZ5XYD", 7, 15), "08:00 XYD");
  EXPECT_EQ(Noon("XYZ5XYD", 11, 15), "07:00 XYZ");
  EXPECT_EQ(Noon("", 7, 15), "12:00 UTC");
  EXPECT_EQ(Noon("UTC0", 7, 15), "12:00 UTC");
}

TEST(ZoneOf, UnknownZonesAreErrors) {
  for (const std::string tz :
       {"Europe/Berln", "Nowhere", "CET-", "CE-1", "CET-25", "<+03-3",
        "CET-1CEST,M13.5.0,M10.5.0", "CET-1 CEST", "CET-1\n"}) {
    EXPECT_THAT(Noon(tz, 7, 15),
                AllOf(HasSubstr("--local: there is no zone \"" + tz + "\""),
                      HasSubstr("correct TZ")));
  }
}

TEST(SystemZone, IsNotUtcWithoutAZoneFile) {
  EXPECT_THAT(SystemZone("/nowhere/localtime"),
              testing::StatusIs(absl::StatusCode::kNotFound,
                                AllOf(HasSubstr("the local zone is unknown"),
                                      HasSubstr("no zone file /nowhere"),
                                      HasSubstr("set TZ"))));
}

}  // namespace
}  // namespace fleetperf::cli
