#include "agent/source/linux/cgroup/cgroup_name.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace fleetperf::agent {
namespace {

const std::string kContainerId =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kPodUid = "11111111-2222-3333-4444-abcdefabcdef";
const std::string kPodUidInSlice = "11111111_2222_3333_4444_abcdefabcdef";

TEST(CgroupNameTest, KeepsPaths) {
  for (const char* path :
       {"/", "/init.scope", "/system.slice/nginx.service",
        "/user.slice/user-1000.slice/session-2.scope", "/lxc.payload.web",
        "/kubepods.slice/kubepods-burstable.slice", "/kubepods/besteffort",
        // Not an id of a container: short, or not hexadecimal.
        "/docker/0123456789ab", "/system.slice/docker-.scope"}) {
    EXPECT_EQ(CgroupName(path), path);
  }
  const std::string upper = "/docker/" + std::string(64, 'X');
  EXPECT_EQ(CgroupName(upper), upper);
  const std::string glued = "/a.slice/docker" + kContainerId + ".scope";
  EXPECT_EQ(CgroupName(glued), glued);
}

TEST(CgroupNameTest, ShortensContainers) {
  // Docker, with systemd's cgroups and with its own.
  EXPECT_EQ(CgroupName("/system.slice/docker-" + kContainerId + ".scope"),
            "docker/0123456789ab");
  EXPECT_EQ(CgroupName("/docker/" + kContainerId), "docker/0123456789ab");
  EXPECT_EQ(CgroupName("/docker/" + kContainerId + "/init.scope"),
            "docker/0123456789ab/init.scope");
  // Podman.
  EXPECT_EQ(
      CgroupName("/machine.slice/libpod-" + kContainerId + ".scope/container"),
      "libpod/0123456789ab/container");
  // Another runtime.
  EXPECT_EQ(CgroupName("/" + kContainerId), "/0123456789ab");
  EXPECT_EQ(CgroupName("/a.slice/b/" + kContainerId + "/c"),
            "/a.slice/b/0123456789ab/c");
}

TEST(CgroupNameTest, ShortensPods) {
  const std::string slice =
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" +
      kPodUidInSlice + ".slice";
  EXPECT_EQ(CgroupName(slice), "pod/" + kPodUid);
  EXPECT_EQ(CgroupName(slice + "/cri-containerd-" + kContainerId + ".scope"),
            "pod/" + kPodUid + "/0123456789ab");
  EXPECT_EQ(CgroupName(slice + "/crio-" + kContainerId + ".scope/a/b"),
            "pod/" + kPodUid + "/0123456789ab/a/b");
  EXPECT_EQ(
      CgroupName("/kubepods/besteffort/pod" + kPodUid + "/" + kContainerId),
      "pod/" + kPodUid + "/0123456789ab");
  EXPECT_EQ(CgroupName("/kubepods/pod" + kPodUid + "/other"),
            "pod/" + kPodUid + "/other");
}

// Static pods' UIDs are hashes.
TEST(CgroupNameTest, ShortensStaticPods) {
  const std::string hash = "fedcba9876543210fedcba9876543210";
  const std::string slice =
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + hash +
      ".slice";
  EXPECT_EQ(CgroupName(slice), "pod/" + hash);
  EXPECT_EQ(CgroupName(slice + "/cri-containerd-" + kContainerId + ".scope"),
            "pod/" + hash + "/0123456789ab");
  // Not a UID: too short.
  EXPECT_EQ(CgroupName("/kubepods/pod0123456789abcdef"),
            "/kubepods/pod0123456789abcdef");
}

// The layouts that docs/reference/cgroup-names.md lists.
TEST(CgroupNameTest, IsAsDocumented) {
  std::ifstream page(FLEETPERF_DOCS "/reference/cgroup-names.md");
  int layouts = 0;
  for (std::string line; std::getline(page, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    if (cells.size() != 7 || !absl::StrContains(cells[3], " /")) continue;
    const auto fill = [](absl::string_view cell) {
      return absl::StrReplaceAll(absl::StripAsciiWhitespace(cell),
                                 {{"podU_ID", "pod" + kPodUidInSlice},
                                  {"podUID", "pod" + kPodUid},
                                  {"pod/UID", "pod/" + kPodUid},
                                  {"HASH", "fedcba9876543210fedcba9876543210"},
                                  {"ID", kContainerId}});
    };
    const std::string name =
        absl::StrReplaceAll(fill(cells[4]), {{"/id", "/0123456789ab"}});
    EXPECT_EQ(CgroupName(fill(cells[3])), name) << line;
    ++layouts;
  }
  EXPECT_GE(layouts, 33);
}

// conmon runs beside the container, with the container's id.
TEST(CgroupNameTest, DoesNotTakeConmonForTheContainer) {
  const std::string scope = "/crio-conmon-" + kContainerId + ".scope";
  EXPECT_EQ(CgroupName("/kubepods.slice/kubepods-pod" + kPodUidInSlice +
                       ".slice" + scope),
            "pod/" + kPodUid + scope);
  EXPECT_EQ(CgroupName("/system.slice" + scope), "/system.slice" + scope);
  const std::string podman =
      "/machine.slice/libpod-conmon-" + kContainerId + ".scope";
  EXPECT_EQ(CgroupName(podman), podman);
}

}  // namespace
}  // namespace fleetperf::agent
