// Paths of a subscription that no series matches.

#include "cli/watched_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Series MakeSeries(const std::string& machine, const std::string& counterset,
                      const std::string& instance, uint32_t index) {
  v1::Series series;
  series.set_machine(machine);
  series.set_counterset(counterset);
  series.set_instance(instance);
  series.set_instance_index(index);
  series.set_counter("Bytes/sec");
  return series;
}

TEST(WatchedPaths, AreMatchedBySeries) {
  WatchedPaths paths({"\\Disk (new)(c:)\\Bytes/sec",
                      "\\\\web-*\\Disk (new)(c:#1)\\Bytes*",
                      "\\Disk (new)(D:)\\Bytes/sec",
                      "\\{b4fc721a-0378-476f-89ba-a5a79f810b36}(C:)\\id:4",
                      "\\Disk(C:)\\Bytes/sec"});
  paths.Add(MakeSeries("web-1", "Disk (new)", "C:", 0));
  EXPECT_THAT(
      paths.unmatched(),
      ElementsAre("\\\\web-*\\Disk (new)(c:#1)\\Bytes*",
                  "\\Disk (new)(D:)\\Bytes/sec", "\\Disk(C:)\\Bytes/sec"));
  paths.Add(MakeSeries("db-1", "Disk (new)", "C:", 1));
  paths.Add(MakeSeries("web-1", "Disk (new)", "C:", 1));
  paths.Remove("\\Disk(C:)\\Bytes/sec");
  EXPECT_THAT(paths.unmatched(), ElementsAre("\\Disk (new)(D:)\\Bytes/sec"));
  paths.Add(MakeSeries("web-2", "Disk (new)", "D:", 0));
  EXPECT_THAT(paths.unmatched(), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::cli
