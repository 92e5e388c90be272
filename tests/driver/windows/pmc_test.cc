// fleetperf-pmc on the driver with a simulated PMU.

#include <windows.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/driver/windows/loader.h"

namespace fleetperf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class PmcOnDriverTest : public ::testing::Test {
 protected:
  PmcOnDriverTest() { RemoveAnyService(); }
  ~PmcOnDriverTest() override { RemoveAnyService(); }

  void SetUp() override {
    ASSERT_EQ(RunLoader("install", FLEETPERF_SIMULATED_SYS).status, 0);
    ASSERT_EQ(RunLoader("start", FLEETPERF_SIMULATED_SYS).status, 0);
  }
};

// The script is in driver/windows/sys/simulated_machine.h.
TEST_F(PmcOnDriverTest, TopShowsTheScript) {
  const LoaderOutput output =
      RunProgram(FLEETPERF_PMC, "top --json --count 1 --interval 100ms");
  ASSERT_EQ(output.status, 0) << output.text;
  std::vector<std::string> cpus;
  for (const absl::string_view line :
       absl::StrSplit(output.text, '\n', absl::SkipWhitespace())) {
    const auto row = nlohmann::json::parse(line.begin(), line.end());
    cpus.push_back(row.at("cpu").get<std::string>());
    EXPECT_NEAR(row.at("utilization").get<double>(), 0.5, 1e-3) << line;
    EXPECT_NEAR(row.at("ipc").get<double>(), 1.5, 1e-6) << line;
    EXPECT_NEAR(row.at("active_frequency").get<double>(), 4.2, 1e-3) << line;
    EXPECT_NEAR(row.at("l3_hit").get<double>(), 0.6, 1e-3) << line;
    EXPECT_NEAR(row.at("l3_mpi").get<double>(), 0.004, 1e-5) << line;
    EXPECT_EQ(row.at("headroom").get<double>(), 30) << line;
  }
  ASSERT_GE(cpus.size(), 2u);
  EXPECT_EQ(cpus.front(), "0");
  EXPECT_EQ(cpus.back(), "all");
}

TEST_F(PmcOnDriverTest, StatCountsAllCpusAndPassesTheExitStatusOn) {
  const LoaderOutput output = RunProgram(
      FLEETPERF_PMC, "stat --json -- cmd /c \"ping -n 2 127.0.0.1 & exit 3\"");
  EXPECT_EQ(output.status, 3) << output.text;
  EXPECT_THAT(output.text, AllOf(HasSubstr("\"event\":\"instructions\""),
                                 HasSubstr("all CPUs while the command ran")));
}

// Two of each 1000 instructions, at 3.15 · 10^9 instructions a second.
TEST_F(PmcOnDriverTest, StatCountsEventsByTheirCodes) {
  const LoaderOutput output = RunProgram(
      FLEETPERF_PMC, "stat --json -e C5/00 -- cmd /c \"ping -n 2 127.0.0.1\"");
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_THAT(output.text, HasSubstr("\"event\":\"C5/00\",\"value\":"));
  const LoaderOutput wrong =
      RunProgram(FLEETPERF_PMC, "stat -e cycles -- cmd /c exit 0");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.text, HasSubstr("is not CODE/UMASK"));
}

// The simulated machine stops the driver's process if CR4.PCE stays set.
TEST_F(PmcOnDriverTest, RdpmcIsOpenForATime) {
  const LoaderOutput output = RunProgram(FLEETPERF_PMC, "rdpmc --for 1s");
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_THAT(output.text,
              AllOf(HasSubstr("EVERY program"), HasSubstr("0x40000000")));
}

TEST_F(PmcOnDriverTest, ExperimentsUseOneReader) {
  for (const char* experiment : {"sleep", "load"}) {
    const LoaderOutput output = RunProgram(
        FLEETPERF_PMC, std::string("experiments --quick ") + experiment);
    EXPECT_EQ(output.status, 0);
    EXPECT_THAT(output.text, HasSubstr("counts: fleetperf_pmu"));
  }
}

// Without --allow-rdpmc, the driver does not permit RDPMC.
TEST_F(PmcOnDriverTest, RdpmcIsOffUnlessAskedFor) {
  const LoaderOutput output =
      RunProgram(FLEETPERF_PMC, "experiments --quick factorial");
  EXPECT_EQ(output.status, 0);
  EXPECT_THAT(output.text, HasSubstr("--allow-rdpmc"));
}

TEST(PmcWithoutDriver, NamesTheNextStep) {
  RemoveAnyService();
  const LoaderOutput output = RunProgram(FLEETPERF_PMC, "top --count 1");
  EXPECT_EQ(output.status, 1);
  EXPECT_THAT(output.text, HasSubstr("fleetperf-pmu install"));
}

}  // namespace
}  // namespace fleetperf
