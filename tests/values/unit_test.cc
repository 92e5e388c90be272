#include "values/unit.h"

#include <optional>
#include <string>

#include "tests/support/status_matchers.h"
#include "values/value.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

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
      {"Average Idle Time", 0x20570500, ""},  // in units of 100 ns
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
      {"Working Set Peak", kRaw, "B"},
      {"Commit Limit", kRaw, "B"},
      {"Removal Hold Seconds", kRaw, "s"},
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

TEST(UnitFactor, ConvertsUnitsOfOneQuantity) {
  const struct {
    const char* from;
    const char* to;
    std::optional<double> factor;
  } kCases[] = {
      {"GiB", "B", 1073741824.0},
      {"GB", "B", 1e9},
      {"B", "KiB", 1 / 1024.0},
      {"MiB/s", "B/s", 1048576.0},
      {"ms", "s", 0.001},
      {"h", "s", 3600.0},
      {"%", "%", 1.0},
      {"GHz", "MHz", 1000.0},
      {"Mbit/s", "bit/s", 1e6},
      {"k", "1/s", 1000.0},
      {"/s", "1/s", 1.0},
      {"µs", "s", 1e-6},
      {"M", "", 1e6},
      {"G", "B", 1e9},
      {"1/(B/s)", "1/(B/s)", 1.0},
      {"GiB", "B/s", std::nullopt},
      {"GiB", "%", std::nullopt},
      {"ms", "B", std::nullopt},
      {"%", "", std::nullopt},
      {"B", "bit", std::nullopt},
      {"ms", "1/(B/s)", std::nullopt},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(std::string(test.from) + " to " + test.to);
    EXPECT_EQ(UnitFactor(test.from, test.to), test.factor);
  }
}

TEST(CheckUnit, ListsTheUnits) {
  for (const char* unit : {"", "k", "TiB", "min", "kB/s", "1/s"}) {
    EXPECT_OK(CheckUnit(unit));
  }
  EXPECT_THAT(CheckUnit("parsecs"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"parsecs\" is not a unit"),
                             HasSubstr(" GiB "), HasSubstr("MiB/s"))));
}

}  // namespace
}  // namespace fleetperf
