#include "agent/source/linux/disk/linux_md_raid.h"

#include "agent/source/linux/disk/disk_counters.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Reading;
using testing::Values;

// Files as in the kernel's Documentation/admin-guide/md.rst.
class LinuxMdRaidTest : public testing::LinuxFixture {
 protected:
  static constexpr char kRaid[] = "Linux MD RAID";

  void WriteFile(const std::string& file, absl::string_view text) {
    Write("sys/block/md127/md/" + file, text);
  }
  void AddMirror() {
    Write("sys/block/md127/dev", "9:127\n");
    WriteFile("array_state", "clean\n");
    WriteFile("raid_disks", "2\n");
    WriteFile("degraded", "0\n");
    WriteFile("sync_action", "idle\n");
    WriteFile("sync_completed", "none\n");
    WriteFile("sync_speed", "none\n");
    WriteFile("mismatch_cnt", "128\n");
    WriteFile("dev-sda1/state", "in_sync\n");
    WriteFile("dev-sdb1/state", "in_sync,write_error\n");
  }
};

TEST_F(LinuxMdRaidTest, ReadsAHealthyArray) {
  AddMirror();
  Write("sys/block/sda/dev", "8:0\n");
  const Reading reading = Sample(kRaid);
  EXPECT_THAT(reading.names, ElementsAre("md127"));
  EXPECT_EQ(reading.ids.at("md127"), DeviceNumber(9, 127));
  EXPECT_EQ(reading.rows.at("md127"), (Values{{"Active", 1},
                                              {"Disks", 2},
                                              {"Degraded Disks", 0},
                                              {"Faulty Disks", 0},
                                              {"Spare Disks", 0},
                                              {"Synchronizing", 0},
                                              {"Mismatched Sectors", 128}}));
}

TEST_F(LinuxMdRaidTest, ReadsARebuild) {
  AddMirror();
  WriteFile("array_state", "active\n");
  WriteFile("degraded", "1\n");
  WriteFile("sync_action", "recover\n");
  WriteFile("sync_completed", "2097152 / 8388608\n");
  WriteFile("sync_speed", "102400\n");  // KiB/s
  WriteFile("dev-sdb1/state", "faulty,blocked\n");
  WriteFile("dev-sdc1/state", "spare\n");
  EXPECT_EQ(Sample(kRaid).rows.at("md127"),
            (Values{{"Active", 1},
                    {"Disks", 2},
                    {"Degraded Disks", 1},
                    {"Faulty Disks", 1},
                    {"Spare Disks", 1},
                    {"Synchronizing", 1},
                    {"% Synchronized", 2097152},
                    {"id:1100", 8388608},
                    {"Synchronization Bytes/sec", 104857600},
                    {"Mismatched Sectors", 128}}));
}

// An array without redundancy has fewer files.
TEST_F(LinuxMdRaidTest, ReadsAStripedArray) {
  WriteFile("array_state", "inactive\n");
  WriteFile("raid_disks", "3\n");
  EXPECT_EQ(Sample(kRaid).rows.at("md127"), (Values{{"Active", 0},
                                                    {"Disks", 3},
                                                    {"Faulty Disks", 0},
                                                    {"Spare Disks", 0}}));
}

// Firmware RAID has containers, which hold disks but no data.
TEST_F(LinuxMdRaidTest, LeavesOutContainers) {
  const auto add = [this](const std::string& name, const std::string& state,
                          const std::string& level, const std::string& version,
                          const std::string& disks) {
    const std::string directory = "sys/block/" + name + "/md/";
    Write(directory + "array_state", state + "\n");
    Write(directory + "level", level + "\n");
    Write(directory + "metadata_version", version + "\n");
    Write(directory + "raid_disks", disks + "\n");
    Write(directory + "dev-sda/state", "spare\n");
  };
  add("md127", "inactive", "container", "external:imsm", "0");
  add("md126", "active", "raid1", "external:/md127/0", "2");
  add("md125", "read-auto", "raid5", "external:-md127/1", "3");
  // A kernel that does not know the level of a container of DDF.
  add("md124", "inactive", "", "external:ddf", "0");
  add("md0", "clean", "raid0", "1.2", "2");
  add("md1", "inactive", "", "none", "0");
  const Reading reading = Sample(kRaid);
  EXPECT_THAT(reading.names, ElementsAre("md0", "md1", "md125", "md126"));
  EXPECT_EQ(reading.Get("md126", "Active"), 1);
  EXPECT_EQ(reading.Get("md1", "Active"), 0);
}

TEST_F(LinuxMdRaidTest, FollowsArrays) {
  EXPECT_THAT(Sample(kRaid).names, IsEmpty());
  AddMirror();
  clock_.Advance(absl::Seconds(10));
  EXPECT_THAT(Sample(kRaid).names, ElementsAre("md127"));
  Remove("sys/block/md127");
  EXPECT_THAT(Sample(kRaid).names, IsEmpty());
}

}  // namespace
}  // namespace fleetperf::agent
