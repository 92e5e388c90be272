// The default plans of both systems, which a mixed fleet shows side by side.

#include <algorithm>
#include <set>
#include <string>

#include "agent/collect/plan.h"
#include "tests/support/status_matchers.h"

// The other system's plan, too, has no code of its system.
#define DefaultPlan LinuxDefaultPlan
#include "agent/collect/default_plan_linux.cc"
#undef DefaultPlan
#define DefaultPlan WindowsDefaultPlan
#include "agent/collect/default_plan_windows.cc"
#undef DefaultPlan

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;

// Zero if the plan does not collect the counter.
absl::Duration IntervalOf(const Plan& plan, const std::string& counterset,
                          const std::string& counter) {
  for (const PlannedQuery& query : plan.queries) {
    if (query.counterset == counterset &&
        (query.counters.empty() ||
         std::find(query.counters.begin(), query.counters.end(), counter) !=
             query.counters.end())) {
      return query.interval;
    }
  }
  return absl::ZeroDuration();
}

TEST(DefaultPlan, CollectsTheSameOnEverySystem) {
  const struct {
    const char* counterset;
    const char* counter;
    int seconds;
  } kShared[] = {
      {"Processor Information", "% Processor Time", 1},
      {"Processor Information", "% User Time", 1},
      {"Processor Information", "% Privileged Time", 1},
      {"Processor Information", "% Interrupt Time", 1},
      {"Processor Information", "% DPC Time", 1},
      {"Processor Information", "% Idle Time", 1},
      {"System", "Context Switches/sec", 1},
      {"Memory", "Available Bytes", 1},
      {"PhysicalDisk", "Disk Bytes/sec", 1},
      {"Network Interface", "Bytes Total/sec", 1},
      {"Process V2", "% Processor Time", 1},
      {"Process V2", "% User Time", 1},
      {"Process V2", "% Privileged Time", 1},
      {"Process V2", "Working Set", 1},
      {"Process V2", "Virtual Bytes", 1},
      {"Process V2", "Thread Count", 1},
      {"Process V2", "Page Faults/sec", 1},
      {"Process V2", "Elapsed Time", 10},
      {"Process V2", "Handle Count", 10},
      {"Process V2", "Private Bytes", 10},
      {"Process V2", "IO Read Bytes/sec", 10},
      {"Process V2", "IO Write Bytes/sec", 10},
      {"Process V2", "IO Data Bytes/sec", 10},
      {"Process V2", "Creating Process ID", 10},
      {"fleetperf Agent", "Ticks/sec", 10},
  };
  for (const auto& test : kShared) {
    const absl::Duration expected = absl::Seconds(test.seconds);
    EXPECT_EQ(IntervalOf(LinuxDefaultPlan(), test.counterset, test.counter),
              expected)
        << test.counterset << " " << test.counter << " on Linux";
    EXPECT_EQ(IntervalOf(WindowsDefaultPlan(), test.counterset, test.counter),
              expected)
        << test.counterset << " " << test.counter << " on Windows";
  }
}

TEST(DefaultPlan, TellsWhoUsesDisksAndMemory) {
  for (const char* counter :
       {"Storage Read Bytes/sec", "Storage Write Bytes/sec"}) {
    EXPECT_EQ(IntervalOf(LinuxDefaultPlan(), "Process V2", counter),
              absl::Seconds(10));
  }
  EXPECT_EQ(IntervalOf(LinuxDefaultPlan(), "Memory", "Used Bytes"),
            absl::Seconds(1));
}

// Servers have no thermal zones, and virtual machines no GPU: `check` would
// report these as problems.
TEST(DefaultPlan, NamesOnlyCountersetsOfEveryWindows) {
  std::set<std::string> countersets;
  for (const PlannedQuery& query : WindowsDefaultPlan().queries) {
    countersets.insert(query.counterset);
  }
  EXPECT_THAT(
      countersets,
      ElementsAre("LogicalDisk", "Memory", "Network Interface", "Paging File",
                  "PhysicalDisk", "Process V2", "Processor Information",
                  "System", "fleetperf Agent"));
}

}  // namespace
}  // namespace fleetperf::agent
