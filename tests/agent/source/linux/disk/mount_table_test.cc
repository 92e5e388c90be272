#include "agent/source/linux/disk/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/source/linux/disk/disk_counters.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;

// Lines as in the kernel's Documentation/filesystems/proc.rst, 3.5.
TEST(MountTableTest, ParsesALine) {
  const auto mount = ParseMount(
      "36 35 98:2 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root "
      "rw,errors=continue");
  ASSERT_TRUE(mount.has_value());
  EXPECT_EQ(mount->device, DeviceNumber(98, 2));
  EXPECT_EQ(mount->mount_point, "/mnt2");
  EXPECT_EQ(mount->source, "/dev/root");
  EXPECT_EQ(mount->kind, Mount::Kind::kLocal);
  EXPECT_FALSE(mount->is_read_only);
}

TEST(MountTableTest, DecodesOctalEscapes) {
  const auto mount = ParseMount(
      "36 35 98:0 / /mnt/a\\040b\\011c\\134d\\012e\\04 rw - ext4 /dev/x\\040y "
      "rw");
  ASSERT_TRUE(mount.has_value());
  EXPECT_EQ(mount->mount_point, "/mnt/a b\tc\\d\ne\\04");
  EXPECT_EQ(mount->source, "/dev/x y");
}

// A container's mount can be read-only although the filesystem is not.
TEST(MountTableTest, ReadsWhetherTheFilesystemIsReadOnly) {
  const auto read_only = [](absl::string_view mount_options,
                            absl::string_view options) {
    return ParseMount(absl::StrCat("1 2 8:1 / /m ", mount_options,
                                   " - ext4 /dev/sda1 ", options))
        ->is_read_only;
  };
  EXPECT_TRUE(read_only("rw", "ro,errors=remount-ro"));
  EXPECT_TRUE(read_only("rw", "seclabel,ro"));
  EXPECT_FALSE(read_only("ro", "rw,errors=remount-ro"));
  EXPECT_FALSE(read_only("ro", ""));
}

TEST(MountTableTest, SkipsMalformedLines) {
  for (const char* line :
       {"", " ", "36", "36 35", "36 35 98:0", "36 35 98:0 /",
        "36 35 98 / /m - ", "36 35 x:0 / /m rw - ext4 /dev/x rw",
        "36 35 98: / /m rw - ext4 /dev/x",
        "36 35 98:0 / /m rw ext4 /dev/x rw"}) {
    EXPECT_FALSE(ParseMount(line).has_value()) << line;
  }
}

TEST(MountTableTest, SelectsFilesystemsWithData) {
  const auto kind = [](absl::string_view device, absl::string_view type,
                       absl::string_view source) {
    const auto mount = ParseMount(
        absl::StrCat("1 2 ", device, " / /m rw - ", type, " ", source, " rw"));
    switch (mount->kind) {
      case Mount::Kind::kLocal:
        return "local";
      case Mount::Kind::kRemote:
        return "remote";
      case Mount::Kind::kAutomount:
        return "automount";
      case Mount::Kind::kOther:
        return "other";
    }
    return "";
  };
  EXPECT_STREQ(kind("8:1", "xfs", "/dev/sda1"), "local");
  EXPECT_STREQ(kind("253:0", "ext4", "/dev/mapper/vg-root"), "local");
  EXPECT_STREQ(kind("8:1", "fuseblk", "/dev/sdb1"), "local");
  EXPECT_STREQ(kind("0:40", "btrfs", "/dev/sda2"), "local");
  EXPECT_STREQ(kind("0:41", "zfs", "tank/home"), "local");
  EXPECT_STREQ(kind("0:42", "nfs4", "server:/export"), "remote");
  EXPECT_STREQ(kind("0:43", "cifs", "//server/share"), "remote");
  EXPECT_STREQ(kind("0:44", "fuse.sshfs", "me@server:/"), "remote");
  EXPECT_STREQ(kind("0:45", "fuse", "/dev/fuse"), "remote");
  EXPECT_STREQ(kind("0:45", "virtiofs", "tag"), "remote");
  // WSL 1: a drive of Windows, and a share.
  EXPECT_STREQ(kind("0:12", "drvfs", "C:\\134"), "local");
  EXPECT_STREQ(kind("0:12", "drvfs", "D:"), "local");
  EXPECT_STREQ(kind("0:13", "drvfs", "\\134\\134server\\134share"), "remote");
  EXPECT_STREQ(kind("0:47", "autofs", "/etc/auto.misc"), "automount");
  for (const char* interface :
       {"proc", "sysfs", "tmpfs", "devtmpfs", "overlay", "cgroup2", "bpf",
        "fuse.lxcfs", "fuse.portal", "rootfs"}) {
    EXPECT_STREQ(kind("0:46", interface, interface), "other") << interface;
  }
  EXPECT_STREQ(kind("7:3", "squashfs", "/dev/loop3"), "other");
  EXPECT_STREQ(kind("11:0", "iso9660", "/dev/sr0"), "other");
}

std::vector<std::string> FoldedMountPoints(std::vector<Mount> mounts) {
  std::vector<std::string> points;
  for (const Mount& mount : FoldMounts(std::move(mounts))) {
    points.push_back(mount.mount_point);
  }
  return points;
}

std::vector<std::string> FoldedMountPointsOf(absl::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    if (auto mount = ParseMount(line)) mounts.push_back(*std::move(mount));
  }
  return FoldedMountPoints(std::move(mounts));
}

TEST(MountTableTest, FoldsMountsOfTheSameFilesystem) {
  EXPECT_THAT(FoldedMountPoints({{.device = 1, .mount_point = "/a"},
                                 {.device = 1, .mount_point = "/"},
                                 {.device = 2, .mount_point = "/srv/home"},
                                 {.device = 2, .mount_point = "/srv/b"},
                                 {.device = 2, .mount_point = "/srv/a"},
                                 {.device = 1, .mount_point = "/b"}}),
              ElementsAre("/", "/srv/a"));
}

// The layout of openSUSE's installer, with and without the root.
TEST(MountTableTest, PrefersTheRootOfBtrfsSubvolumes) {
  const std::string subvolumes =
      "72 60 0:35 /@/home /home rw,relatime shared:4 - btrfs /dev/sda2 rw\n"
      "73 60 0:35 /@/opt /opt rw,relatime shared:5 - btrfs /dev/sda2 rw\n"
      "74 60 0:35 /@/var /var rw,relatime shared:6 - btrfs /dev/sda2 rw\n";
  EXPECT_THAT(
      FoldedMountPointsOf(
          "60 1 0:35 /@/.snapshots/1/snapshot / rw,relatime shared:1 - btrfs "
          "/dev/sda2 rw,subvolid=268,subvol=/@/.snapshots/1/snapshot\n" +
          subvolumes),
      ElementsAre("/"));
  EXPECT_THAT(FoldedMountPointsOf(subvolumes), ElementsAre("/opt"));
}

TEST(MountTableTest, PrefersTheRootOfOstree) {
  EXPECT_THAT(
      FoldedMountPointsOf(
          "61 60 253:4 /ostree/deploy/os/deploy/0123.0/usr /usr ro shared:2 - "
          "xfs /dev/vda4 rw\n"
          "60 1 253:4 /ostree/deploy/os/deploy/0123.0 / rw shared:1 - xfs "
          "/dev/vda4 rw\n"
          "62 60 253:4 / /sysroot ro,relatime shared:3 - xfs /dev/vda4 rw\n"
          "63 60 253:4 /ostree/deploy/os/var /var rw shared:4 - xfs /dev/vda4 "
          "rw\n"),
      ElementsAre("/"));
}

// Sandboxes give all filesystems the number 0.
TEST(MountTableTest, KeepsFilesystemsWithoutADeviceNumberApart) {
  EXPECT_THAT(FoldedMountPoints({{.device = 0, .mount_point = "/"},
                                 {.device = 0, .mount_point = "/data"}}),
              ElementsAre("/", "/data"));
}

TEST(MountTableTest, MarksWhatIsAutomounted) {
  const auto automounted = [](std::vector<Mount> mounts) {
    std::vector<std::string> points;
    for (const Mount& mount : FoldMounts(std::move(mounts))) {
      if (mount.is_automounted) points.push_back(mount.mount_point);
    }
    return points;
  };
  constexpr auto kAutomount = Mount::Kind::kAutomount;
  EXPECT_THAT(
      automounted(
          {{.device = 1, .mount_point = "/"},
           // A direct one, which is mounted, and one that is not.
           {.device = 10, .mount_point = "/data", .kind = kAutomount},
           {.device = 2, .mount_point = "/data"},
           {.device = 11, .mount_point = "/boot", .kind = kAutomount},
           // An indirect one, and what is mounted in a filesystem below.
           {.device = 12, .mount_point = "/net", .kind = kAutomount},
           {.device = 3, .mount_point = "/net/a"},
           {.device = 4, .mount_point = "/net/a/b/c"},
           {.device = 5, .mount_point = "/network"}}),
      ElementsAre("/data", "/net/a", "/net/a/b/c"));
  // A filesystem that is also mounted elsewhere.
  EXPECT_THAT(FoldedMountPoints(
                  {{.device = 10, .mount_point = "/n", .kind = kAutomount},
                   {.device = 2, .mount_point = "/n/a"},
                   {.device = 2, .mount_point = "/permanent"}}),
              ElementsAre("/permanent"));
}

TEST(MountTableTest, LeavesOutHiddenMounts) {
  EXPECT_THAT(FoldedMountPoints({{.device = 1, .mount_point = "/mnt"},
                                 {.device = 2, .mount_point = "/mnt"}}),
              ElementsAre("/mnt"));
  EXPECT_EQ(FoldMounts({{.device = 1, .mount_point = "/mnt"},
                        {.device = 2, .mount_point = "/mnt"}})
                .at(0)
                .device,
            2u);
}

// The kernel lists mounts of the initial RAM disk before the root.
TEST(MountTableTest, LeavesOutMountsBelowLaterOnes) {
  EXPECT_THAT(FoldedMountPoints({{.device = 1, .mount_point = "/usr"},
                                 {.device = 2, .mount_point = "/"},
                                 {.device = 3, .mount_point = "/a/b"},
                                 {.device = 4, .mount_point = "/ab"},
                                 {.device = 5, .mount_point = "/a"},
                                 {.device = 6, .mount_point = "/a/c"}}),
              ElementsAre("/usr", "/", "/ab", "/a", "/a/c"));
}

// Such as a tmpfs by which systemd hides /home from a service.
TEST(MountTableTest, LeavesOutFilesystemsBehindOthers) {
  EXPECT_THAT(
      FoldedMountPoints(
          {{.device = 1, .mount_point = "/"},
           {.device = 2, .mount_point = "/home"},
           {.device = 3, .mount_point = "/home", .kind = Mount::Kind::kOther}}),
      ElementsAre("/"));
}

using MountLimitTest = testing::LinuxFixture;

TEST_F(MountLimitTest, TellsOfFilesystemsBeyondIt) {
  std::string mounts;
  for (int i = 1; i <= 4100; ++i) {
    absl::StrAppend(&mounts, i, " 1 8:", i, " / /", i,
                    " rw - ext4 /dev/sda rw\n");
  }
  Write("proc/self/mountinfo", mounts);
  ask_for_space_ = nullptr;
  EXPECT_EQ(Sample("Linux Filesystem").names.size(), 4096u);
  ASSERT_EQ(source().Limitations().size(), 1);
  EXPECT_EQ(source().Limitations()[0].reason,
            "there are more than 4096 filesystems; the last mounts are absent");
  EXPECT_EQ(Sample("fleetperf Collection")
                .Get("Linux Filesystem", "Instances Left Out"),
            4);
}

}  // namespace
}  // namespace fleetperf::agent
