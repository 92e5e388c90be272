#include "aggregator/formula/unit.h"

#include "aggregator/formula/value.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

TEST(UnitOf, ComesFromTheTypeOrElseTheName) {
  constexpr uint32_t kRaw = 0x00010100;
  constexpr uint32_t kCountRate = 0x10410500;
  const struct {
    const char* name;
    uint32_t type;
    const char* unit;
  } kCases[] = {
      {"% Processor Time", 0x21510500, "%"},
      {"% Free Space", 0x20020400, "%"},
      {"% Processor Utility", 0x40020500, "%"},  // AVERAGE_BULK has no unit
      {"% of Maximum Frequency", kRaw, "%"},
      {"Avg. Disk sec/Read", 0x30020400, "s"},
      {"System Up Time", 0x30240500, "s"},
      {"Context Switches/sec", kCountRate, "1/s"},
      {"Disk Read Bytes/sec", kCountRate, "B/s"},
      {"Processes", kRaw, ""},
      {"Available Bytes", kRaw, "B"},
      {"Available KBytes", kRaw, "KiB"},
      {"Available MBytes", kRaw, "MiB"},
      {"Free Megabytes", kRaw, "MiB"},
      {"Working Set", kRaw, "B"},
      {"Current Bandwidth", kRaw, "bit/s"},
      {"Processor Frequency", kRaw, "MHz"},
      {"Avg. Disk Bytes/Read", 0x40020500, "B"},
      {"Current Disk Queue Length", 0x00010000, ""},
      {"", kRaw, ""},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(UnitOf({.type = test.type, .name = test.name}), test.unit)
        << test.name;
  }
}

TEST(StatusName, MatchesTheDocumentation) {
  const struct {
    ValueStatus status;
    const char* name;
  } kCases[] = {
      {ValueStatus::kOk, "ok"},
      {ValueStatus::kNeedTwoSamples, "need_two_samples"},
      {ValueStatus::kNegativeValue, "negative_value"},
      {ValueStatus::kNegativeDenominator, "negative_denominator"},
      {ValueStatus::kZeroDenominator, "zero_denominator"},
      {ValueStatus::kBadFrequency, "bad_frequency"},
      {ValueStatus::kZeroMulti, "zero_multi"},
      {ValueStatus::kTypeMismatch, "type_mismatch"},
      {ValueStatus::kNotDisplayable, "not_displayable"},
      {ValueStatus::kUnknownType, "unknown_type"},
      {ValueStatus::kGap, "gap"},
  };
  for (const auto& test : kCases) EXPECT_EQ(StatusName(test.status), test.name);
}

TEST(CauseName, MatchesTheDocumentation) {
  const struct {
    GapCause cause;
    const char* name;
  } kCases[] = {
      {GapCause::kNone, ""},
      {GapCause::kNoSamples, "no_samples"},
      {GapCause::kNewLife, "new_life"},
      {GapCause::kAgentRestart, "agent_restart"},
      {GapCause::kClockStep, "clock_step"},
      {GapCause::kNoValue, "no_value"},
      {GapCause::kSpoolFull, "spool_full"},
      {GapCause::kRejected, "rejected"},
      {GapCause::kOverrun, "overrun"},
  };
  for (const auto& test : kCases) EXPECT_EQ(NameOf(test.cause), test.name);
}

}  // namespace
}  // namespace fleetperf::aggregator
