#include "agent/source/linux/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/source/linux/disk_counters.h"

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
  EXPECT_EQ(mount->root, "/mnt1");
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
  for (const char* interface :
       {"proc", "sysfs", "tmpfs", "devtmpfs", "overlay", "cgroup2", "autofs",
        "bpf", "fuse.lxcfs", "fuse.portal", "rootfs"}) {
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

TEST(MountTableTest, FoldsMountsOfTheSameFilesystem) {
  EXPECT_THAT(FoldedMountPoints(
                  {{.device = 1, .root = "/srv/data", .mount_point = "/bind"},
                   {.device = 1, .root = "/", .mount_point = "/"},
                   {.device = 2, .root = "/@home", .mount_point = "/home"},
                   {.device = 1, .root = "/", .mount_point = "/again"},
                   {.device = 2, .root = "/@longer", .mount_point = "/x"}}),
              ElementsAre("/", "/home"));
}

TEST(MountTableTest, LeavesOutHiddenMounts) {
  EXPECT_THAT(
      FoldedMountPoints({{.device = 1, .root = "/", .mount_point = "/mnt"},
                         {.device = 2, .root = "/", .mount_point = "/mnt"}}),
      ElementsAre("/mnt"));
  EXPECT_EQ(FoldMounts({{.device = 1, .root = "/", .mount_point = "/mnt"},
                        {.device = 2, .root = "/", .mount_point = "/mnt"}})
                .at(0)
                .device,
            2u);
}

// The kernel lists mounts of the initial RAM disk before the root.
TEST(MountTableTest, LeavesOutMountsBelowLaterOnes) {
  EXPECT_THAT(
      FoldedMountPoints({{.device = 1, .root = "/", .mount_point = "/usr"},
                         {.device = 2, .root = "/", .mount_point = "/"},
                         {.device = 3, .root = "/", .mount_point = "/a/b"},
                         {.device = 4, .root = "/", .mount_point = "/ab"},
                         {.device = 5, .root = "/", .mount_point = "/a"},
                         {.device = 6, .root = "/", .mount_point = "/a/c"}}),
      ElementsAre("/usr", "/", "/ab", "/a", "/a/c"));
}

// Such as a tmpfs by which systemd hides /home from a service.
TEST(MountTableTest, LeavesOutFilesystemsBehindOthers) {
  EXPECT_THAT(
      FoldedMountPoints({{.device = 1, .root = "/", .mount_point = "/"},
                         {.device = 2, .root = "/", .mount_point = "/home"},
                         {.device = 3,
                          .root = "/",
                          .mount_point = "/home",
                          .kind = Mount::Kind::kOther}}),
      ElementsAre("/"));
}

TEST(MountTableTest, BoundsTheirNumber) {
  std::vector<Mount> mounts;
  for (uint32_t i = 0; i < 1000; ++i) {
    mounts.push_back(
        {.device = i, .root = "/", .mount_point = absl::StrCat("/", i)});
  }
  EXPECT_EQ(FoldMounts(mounts).size(), 512u);
}

}  // namespace
}  // namespace fleetperf::agent
