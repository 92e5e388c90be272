#include "base/text/units.h"

#include <cstdint>
#include <string>

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST(ParseDuration, ParsesCommonForms) {
  const struct {
    const char* text;
    absl::Duration duration;
  } kCases[] = {
      {"0", absl::ZeroDuration()},
      {"0s", absl::ZeroDuration()},
      {"500ms", absl::Milliseconds(500)},
      {"250us", absl::Microseconds(250)},
      {"10s", absl::Seconds(10)},
      {"1.5s", absl::Milliseconds(1500)},
      {"5m", absl::Minutes(5)},
      {"1h30m", absl::Minutes(90)},
      {"48h", absl::Hours(48)},
      {"1d", absl::Hours(24)},
      {"7d", absl::Hours(168)},
      {"2w", absl::Hours(336)},
      {"1d12h", absl::Hours(36)},
      {"1w1h1m1s", absl::Hours(169) + absl::Seconds(61)},
      {"36500d", absl::Hours(876'000)},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.text);
    ASSERT_OK_AND_ASSIGN(const absl::Duration duration,
                         ParseDuration(test.text));
    EXPECT_EQ(duration, test.duration);
  }
}

TEST(ParseDuration, RejectsInvalidText) {
  for (const std::string text :
       {"", " ", "10", "s", "d", "10 s", " 10s", "10s ", "10x", "ten", "-1s",
        "-1d", "1d-1h", "7d x", "7dd", "1.5d", "1h 30m", "inf", "-inf", "1dinf",
        // Larger than the maximum duration.
        "99999999999999999999d", "9223372036854775807w", "9223372036854775807d",
        "9223372036854775807h"}) {
    EXPECT_THAT(ParseDuration(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("\"" + text + "\" is not a duration"),
                               HasSubstr("1h30m"))));
  }
}

TEST(ParseByteSize, ParsesCommonForms) {
  const struct {
    const char* text;
    uint64_t size;
  } kCases[] = {
      {"0", 0},
      {"4096", 4096},
      {"1KiB", 1024},
      {"64MiB", 67'108'864},
      {"1GiB", 1'073'741'824},
      {"2TiB", 2'199'023'255'552},
      {"18446744073709551615", UINT64_MAX},
      {"16777215TiB", 18'446'742'974'197'923'840u},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.text);
    ASSERT_OK_AND_ASSIGN(const uint64_t size, ParseByteSize(test.text));
    EXPECT_EQ(size, test.size);
  }
}

TEST(FormatByteSize, WritesTheLargestUnit) {
  EXPECT_EQ(FormatByteSize(0), "0");
  EXPECT_EQ(FormatByteSize(1023), "1023");
  EXPECT_EQ(FormatByteSize(1024), "1KiB");
  EXPECT_EQ(FormatByteSize(1536), "1536");
  EXPECT_EQ(FormatByteSize(3'145'728), "3MiB");
  EXPECT_EQ(FormatByteSize(1'125'899'906'842'624), "1024TiB");
}

TEST(FormatInOneUnit, WritesTheLargestUnit) {
  EXPECT_EQ(FormatInOneUnit(absl::ZeroDuration()), "0s");
  EXPECT_EQ(FormatInOneUnit(absl::Milliseconds(500)), "500ms");
  EXPECT_EQ(FormatInOneUnit(absl::Milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatInOneUnit(absl::Seconds(90)), "90s");
  EXPECT_EQ(FormatInOneUnit(absl::Minutes(90)), "90m");
  EXPECT_EQ(FormatInOneUnit(absl::Hours(23)), "23h");
  EXPECT_EQ(FormatInOneUnit(absl::Hours(168)), "7d");
}

TEST(ParseByteSize, RejectsInvalidText) {
  for (const std::string text :
       {"", "MiB", "-1", "-1KiB", "1.5GiB", "64MB", "64M", "64kib", "0x10",
        "1KiBKiB", "1 KiB KiB", "a",
        // 2^64 bytes and more.
        "16777216TiB", "18014398509481984KiB", "18446744073709551616",
        "99999999999999999999GiB"}) {
    EXPECT_THAT(ParseByteSize(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("\"" + text + "\" is not a size"),
                               HasSubstr("64MiB"))));
  }
}

// 2026-11-20 21:49:00 UTC: 20,777 days and 78,540 seconds after 1970.
constexpr int64_t kEvening = 20'777 * int64_t{86'400} + 78'540;

TEST(ParseTime, ReadsRfc3339AndShorterForms) {
  const absl::Time now = absl::FromUnixSeconds(1);
  const struct {
    const char* text;
    absl::Time time;
  } kCases[] = {
      {"now", now},
      {"2026-11-20T21:49:00Z", absl::FromUnixSeconds(kEvening)},
      {"2026-11-20T21:49:00", absl::FromUnixSeconds(kEvening)},
      {"2026-11-20 21:49:00", absl::FromUnixSeconds(kEvening)},
      {"2026-11-20T23:49:00+02:00", absl::FromUnixSeconds(kEvening)},
      {"2026-11-20T16:19:00-05:30", absl::FromUnixSeconds(kEvening)},
      {"2026-11-20T21:49:00.25Z", absl::FromUnixMillis(1000 * kEvening + 250)},
      {"2026-11-20", absl::FromUnixSeconds(kEvening - 78'540)},
      {"1970-01-01T00:00:00Z", absl::UnixEpoch()},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.text);
    ASSERT_OK_AND_ASSIGN(const absl::Time time, ParseTime(test.text, now));
    EXPECT_EQ(time, test.time);
  }
}

TEST(ParseTime, ReadsRelativeTimesTimesOfDayAndUnixSeconds) {
  const absl::Time now = absl::FromUnixSeconds(kEvening);  // 21:49
  const absl::Time midnight = now - absl::Seconds(78'540);
  const struct {
    const char* text;
    absl::Time time;
  } kCases[] = {
      {"-5m", now - absl::Minutes(5)},
      {"-1h30m", now - absl::Minutes(90)},
      {"-2d", now - absl::Hours(48)},
      {"00:30", midnight + absl::Minutes(30)},
      {"21:49", now},
      {"21:50", now - absl::Hours(24) + absl::Minutes(1)},  // yesterday
      {"09:30:15", midnight + absl::Hours(9) + absl::Seconds(1815)},
      {"1795211340", now},
      {"1795211340.5", now + absl::Milliseconds(500)},
      {"2026-11-20 21:49", now},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.text);
    ASSERT_OK_AND_ASSIGN(const absl::Time time, ParseTime(test.text, now));
    EXPECT_EQ(time, test.time);
  }
}

TEST(ParseTime, ReadsTimesWithoutAZoneInTheGivenZone) {
  const absl::Time now = absl::FromUnixSeconds(kEvening);
  const absl::TimeZone zone = absl::FixedTimeZone(2 * 3600);  // 23:49 there
  const auto parse = [&](const char* text) {
    return ParseTime(text, now, zone).value();
  };
  EXPECT_EQ(parse("2026-11-20T23:49:00"), now);
  EXPECT_EQ(parse("23:48"), now - absl::Minutes(1));
  EXPECT_EQ(parse("23:50"), now - absl::Hours(24) + absl::Minutes(1));
  EXPECT_EQ(parse("2026-11-20"), now - absl::Hours(23) - absl::Minutes(49));
  EXPECT_EQ(parse("2026-11-20T21:49:00Z"), now);
  EXPECT_EQ(FormatInZone(now, zone), "2026-11-20T23:49:00+02:00");
  EXPECT_EQ(FormatInZone(now, absl::UTCTimeZone()), "2026-11-20T21:49:00Z");
}

TEST(ParseTime, RejectsInvalidText) {
  for (const std::string text :
       {"", "today", "24:00", "2026", "2026-11", "2026-13-01", "2026-02-30",
        "2026-11-20T25:00:00Z", "2026-11-20T21:49:00Zulu", "-", "-5", "--from",
        "123456789x", "infinite-future", "infinite-past"}) {
    EXPECT_THAT(ParseTime(text, absl::UnixEpoch()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("\"" + text + "\" is not a time")));
  }
}

TEST(FormatUtc, WritesRfc3339InUtcWithSignificantDigits) {
  const absl::Time evening = absl::FromUnixSeconds(kEvening);
  EXPECT_EQ(FormatUtc(evening), "2026-11-20T21:49:00Z");
  EXPECT_EQ(FormatUtc(evening + absl::Milliseconds(250)),
            "2026-11-20T21:49:00.25Z");
  EXPECT_EQ(FormatUtc(evening + absl::Nanoseconds(100)),
            "2026-11-20T21:49:00.0000001Z");
  EXPECT_EQ(
      ParseTime(FormatUtc(evening + absl::Nanoseconds(1)), evening).value(),
      evening + absl::Nanoseconds(1));
}

}  // namespace
}  // namespace fleetperf
