#include "tests/agent/source/linux/linux_counters_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "agent/source/linux/linux_countersets.h"
#include "base/os/files.h"
#include "base/text/everyday_words.h"
#include "perflib/counter_type.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::HasSubstr;
using testing::LinuxCountersPage;
using ::testing::Not;

class LinuxCountersPageTest : public testing::LinuxFixture {};

TEST_F(LinuxCountersPageTest, IsUpToDate) {
  const auto committed =
      ReadFile(absl::StrCat(FLEETPERF_DOCS, "/reference/linux-counters.md"));
  ASSERT_OK(committed);
  EXPECT_TRUE(*committed == LinuxCountersPage(LinuxCountersets()))
      << "The tables in agent/source/linux changed. In the root of the source, "
         "write the page again with\n"
         "  build/release/tests/linux_counters_page > "
         "docs/reference/linux-counters.md";
}

TEST_F(LinuxCountersPageTest, HasASectionForEveryCountersetServed) {
  std::set<std::string> served;
  for (const auto& registration : registrations()) {
    if (registration.name != "Linux Perf") served.insert(registration.name);
  }
  std::set<std::string> listed;
  for (const LinuxCounterset* counterset : LinuxCountersets()) {
    EXPECT_TRUE(listed.insert(std::string(counterset->name)).second);
  }
  EXPECT_EQ(listed, served);
}

// Each entry of the table of everyday words is a counter.
TEST_F(LinuxCountersPageTest, HasTheCountersOfEverydayWords) {
  std::set<std::pair<absl::string_view, absl::string_view>> names;
  for (const LinuxCounterset* counterset : LinuxCountersets()) {
    for (const LinuxCounter& counter : counterset->counters) {
      names.emplace(counterset->name, counter.spec.name);
    }
  }
  for (const EverydayCounter& everyday : EverydayCounters()) {
    EXPECT_TRUE(names.contains({everyday.counterset, everyday.counter}))
        << everyday.counterset << "\\" << everyday.counter;
  }
}

// Counters that only serve formulas need none.
TEST_F(LinuxCountersPageTest, EveryCounterHasASource) {
  for (const LinuxCounterset* counterset : LinuxCountersets()) {
    const bool has_instances = (counterset->instance_type &
                                perflib::kCountersetMultipleInstances) != 0;
    EXPECT_EQ(counterset->instances.empty(), !has_instances)
        << counterset->name;
    for (const LinuxCounter& counter : counterset->counters) {
      EXPECT_TRUE(!counter.source.empty() || counter.spec.name.empty())
          << counterset->name << " " << counter.spec.id;
    }
  }
}

TEST_F(LinuxCountersPageTest, ShowsEachCounterInARow) {
  static constexpr LinuxCounter kCounters[] = {
      {{7, perflib::kPerfAverageTimer, "Avg. sec/A|B", "Time of an A.", 9},
       "s",
       "/proc/a `b|c`",
       "Not on Windows."},
      {{8, perflib::kPerfCounterRawcount, "Bs", "Bs that exist."}, "", "/b"},
      {{9, perflib::kPerfAverageBase, "", ""}, "", ""},
  };
  static constexpr LinuxCounterset kPageSet = {
      .guid = "{e230de28-3a98-59c7-93c5-bf691d2085ad}",
      .name = "Letters",
      .help = "All letters.",
      .instance_type = perflib::kCountersetMultipleInstances,
      .instances = "`a` to `z`",
      .counters = kCounters};
  const std::string page = LinuxCountersPage({&kPageSet});
  EXPECT_THAT(page, HasSubstr("\n## Letters\n\nAll letters. GUID "
                              "`{e230de28-3a98-59c7-93c5-bf691d2085ad}`. "
                              "Instances: `a` to `z`.\n\n| counter | id |"));
  EXPECT_THAT(page,
              HasSubstr("\n| Avg. sec/A\\|B | 7 | PERF_AVERAGE_TIMER | s | "
                        "/proc/a `b\\|c` | Time of an A. Not on Windows. |\n"));
  EXPECT_THAT(page, HasSubstr("\n| Bs | 8 | PERF_COUNTER_RAWCOUNT |  | /b | "
                              "Bs that exist. |\n"));
  EXPECT_THAT(page, Not(HasSubstr("| 9 |")));
}

}  // namespace
}  // namespace fleetperf::agent
