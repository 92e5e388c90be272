// The instances that a plan wants, of countersets whose source can leave the
// others alone. LogicalDisk has its own test.

#include "agent/source/instance_selection.h"

#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;

class InstanceSelectionTest : public testing::LinuxFixture {
 protected:
  void Exclude(const std::string& counterset,
               std::vector<std::string> patterns) {
    Apply({.counterset = counterset, .exclude = std::move(patterns)});
  }
  void Include(const std::string& counterset,
               std::vector<std::string> patterns) {
    Apply({.counterset = counterset, .include = std::move(patterns)});
  }
  std::vector<std::string> Names(absl::string_view counterset) {
    clock_.Advance(absl::Seconds(1));
    return Sample(counterset).names;
  }

 private:
  void Apply(InstanceRule rule) {
    source().SelectInstances({}, {std::move(rule)});
  }
};

TEST_F(InstanceSelectionTest, LeavesOutDisks) {
  for (const char* disk : {"sda", "sdb", "sdc"}) {
    Write(absl::StrCat("sys/block/", disk, "/size"), "1\n");
  }
  const auto write = [this](int reads) {
    Write("proc/diskstats",
          absl::StrCat("8 0 sda ", reads, "\n8 16 sdb ", reads, "\n8 32 sdc ",
                       reads, "\n", "8 33 sdc1 ", reads, "\n"));
  };
  write(1);
  Exclude("PhysicalDisk", {"sd[*]", "sdb"});
  EXPECT_THAT(Names("PhysicalDisk"), ElementsAre("sda", "sdc", "_Total"));
  write(8);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Sample("PhysicalDisk").Get("_Total", "Disk Reads/sec"), 14);
  Include("PhysicalDisk", {"SDC"});
  EXPECT_THAT(Names("PhysicalDisk"), ElementsAre("sdc", "_Total"));
  EXPECT_THAT(Names("Linux Block Device"), ElementsAre("sdc1"));
  Exclude("Linux *", {"sdc?"});
  EXPECT_THAT(Names("Linux Block Device"), ElementsAre());
  EXPECT_EQ(Names("PhysicalDisk").size(), 4u);
}

TEST_F(InstanceSelectionTest, LeavesOutInterfaces) {
  Write("proc/net/dev",
        "Inter-|\n face |\n"
        "    lo: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n"
        "  eth0: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n"
        " veth1: 1 2 0 0 0 0 0 0 3 4 0 0 0 0 0 0\n");
  Exclude("Network Interface", {"veth*", "lo"});
  // Both countersets show the same interfaces.
  EXPECT_THAT(Names("Network Interface"), ElementsAre("eth0"));
  EXPECT_THAT(Names("Network Adapter"), ElementsAre("eth0"));
  Include("Network Adapter", {"?o"});
  EXPECT_THAT(Names("Network Interface"), ElementsAre("lo"));
  source().SelectInstances(
      {}, {{.counterset = "Network Adapter", .include = {"lo"}},
           {.counterset = "Network Interface", .include = {"eth*"}}});
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Names("Network Interface"), ElementsAre("lo", "eth0"));
}

TEST(InstanceSelection, ContainsTheAggregatesThatAQueryNames) {
  const perflib::CountersetRegistration queues = {.name = "Order Queues"};
  const InstanceSelection selection(
      queues, {{.counterset = "Order Queues", .aggregates = {"All Queues"}}},
      {{.counterset = "Order Queues", .include = {"a*"}, .exclude = {"All*"}}});
  EXPECT_TRUE(selection.Contains("All Queues"));
  EXPECT_TRUE(selection.Contains("apples"));
  EXPECT_FALSE(selection.Contains("All Others"));
  EXPECT_FALSE(selection.Contains("pears"));
}

TEST_F(InstanceSelectionTest, LeavesOutCgroups) {
  Write("sys/fs/cgroup/cgroup.controllers", "");
  for (const char* path : {"", "a.slice/", "a.slice/x.service/", "b.slice/"}) {
    Write(absl::StrCat("sys/fs/cgroup/", path, "pids.current"), "1\n");
  }
  EXPECT_THAT(Names("Linux Cgroup"),
              ElementsAre("/", "/a.slice", "/b.slice", "/a.slice/x.service"));
  // Nothing below is looked for.
  Exclude("Job Object", {"/a.slice"});
  EXPECT_THAT(Names("Linux Cgroup"), ElementsAre("/", "/b.slice"));
  EXPECT_THAT(Names("Job Object"), ElementsAre("_Total", "/b.slice"));
  // The root stays for what it contains.
  Include("Linux Cgroup", {"*.service"});
  EXPECT_THAT(Names("Job Object"), ElementsAre("_Total", "/a.slice/x.service"));
}

}  // namespace
}  // namespace fleetperf::agent
