#include "agent/source/linux/process/process_name.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_join.h"

namespace fleetperf::agent {
namespace {

// Arguments as in /proc/PID/cmdline: each ends with a NUL.
std::string CommandLine(std::initializer_list<absl::string_view> arguments) {
  return absl::StrJoin(arguments, std::string(1, '\0')) + '\0';
}

TEST(ProcessNameTest, FindsTheNameInAPath) {
  EXPECT_EQ(WholeProcessName("systemd-journal",
                             CommandLine({"/lib/systemd/systemd-journald"})),
            "systemd-journald");
  EXPECT_EQ(WholeProcessName("networkd-dispat",
                             CommandLine({"networkd-dispatcher", "--verbose"})),
            "networkd-dispatcher");
}

TEST(ProcessNameTest, FindsTheNameOfAScript) {
  EXPECT_EQ(WholeProcessName("unattended-upgr",
                             CommandLine({"/usr/bin/python3",
                                          "/usr/share/unattended-upgrades/"
                                          "unattended-upgrade-shutdown",
                                          "--wait-for-signal"})),
            "unattended-upgrade-shutdown");
}

TEST(ProcessNameTest, EndsTheNameInATitle) {
  EXPECT_EQ(
      WholeProcessName("long-server-nam",
                       CommandLine({"long-server-name: worker for /srv/www"})),
      "long-server-name");
  EXPECT_EQ(WholeProcessName("long-server-nam",
                             CommandLine({"/usr/long-server-name -D"})),
            "long-server-name");
}

TEST(ProcessNameTest, KeepsNamesOfExactly15Bytes) {
  EXPECT_EQ(WholeProcessName("systemd-resolve",
                             CommandLine({"/lib/systemd/systemd-resolve"})),
            "systemd-resolve");
}

TEST(ProcessNameTest, KeepsTheNameIfTheCommandLineHasAnother) {
  const absl::string_view name = "systemd-journal";
  EXPECT_EQ(WholeProcessName(name, ""), name);
  EXPECT_EQ(WholeProcessName(name, CommandLine({"(sd-pam)"})), name);
  EXPECT_EQ(WholeProcessName(name, CommandLine({"a", "b", "systemd-journald"})),
            name);
  EXPECT_EQ(WholeProcessName(name, CommandLine({"systemd-journald.d/other"})),
            name);
  EXPECT_EQ(WholeProcessName(name, "/"), name);
  EXPECT_EQ(WholeProcessName("short", CommandLine({"shorter"})), "short");
}

}  // namespace
}  // namespace fleetperf::agent
