#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::Reading;
using testing::Values;

constexpr char kNfs[] = "Linux NFS Client";

class LinuxNfsClientTest : public testing::LinuxFixture {};

// Request N of version 3 has the number 100 + N, of version 4 1000 + N.
TEST_F(LinuxNfsClientTest, ReadsEveryCounter) {
  Write("proc/net/rpc/nfs",
        "net 0 0 0 0\n"
        "rpc 70000 12 70001\n"
        "proc3 22 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 "
        "115 116 117 118 119 120 121\n"
        "proc4 61 1000 1001 1002 1003 1004 1005 1006 1007 1008 1009 1010 1011 "
        "1012 1013 1014 1015 1016 1017 1018 1019 1020 1021 1022 1023 1024 1025 "
        "1026 1027 1028 1029 1030 1031\n");
  EXPECT_EQ(
      Sample(kNfs).rows.at(""),
      (Values{
          {"Calls/sec", 70000},
          {"Retransmissions/sec", 12},
          {"Authentication Refreshes/sec", 70001},
          {"Reads/sec", 106 + 1001},
          {"Writes/sec", 107 + 1002},
          {"Commits/sec", 121 + 1003},
          {"Opens/sec", 1004 + 1006},
          {"Closes/sec", 1008},
          {"Locks/sec", 1014 + 1015 + 1016},
          {"Get Attributes/sec", 101 + 1018},
          {"Set Attributes/sec", 102 + 1009},
          {"Lookups/sec", 103 + 1019 + 1020},
          {"Access Checks/sec", 104 + 1017},
          {"Read Directories/sec", 116 + 117 + 1029},
          // Files, directories, symbolic links, special files, links.
          {"Creates/sec", 108 + 109 + 110 + 111 + 115 + 1023 + 1024 + 1025},
          {"Removes/sec", 112 + 113 + 1021},
          {"Renames/sec", 114 + 1022},
      }));
}

TEST_F(LinuxNfsClientTest, HasTheVersionsThatTheKernelHas) {
  Write("proc/net/rpc/nfs", "rpc 1 2 3\nproc3 22 0 4 5\n");
  EXPECT_EQ(Sample(kNfs).rows.at(""),
            (Values{{"Calls/sec", 1},
                    {"Retransmissions/sec", 2},
                    {"Authentication Refreshes/sec", 3},
                    {"Get Attributes/sec", 4},
                    {"Set Attributes/sec", 5}}));
}

// The kernel's counters have 32 bits.
TEST_F(LinuxNfsClientTest, DoesNotWrap) {
  Write("proc/net/rpc/nfs", "rpc 4294967294 0 0\n");
  EXPECT_EQ(Sample(kNfs).Get("", "Calls/sec"), 4294967294);
  Write("proc/net/rpc/nfs", "rpc 4 0 0\n");
  EXPECT_EQ(Sample(kNfs).Get("", "Calls/sec"), 4294967300);
}

// The file appears with the first mount, which loads the module.
TEST_F(LinuxNfsClientTest, HasNoValuesWithoutTheFile) {
  const Reading reading = Sample(kNfs);
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
  EXPECT_EQ(reading.rows.at(""), Values{});
  Write("proc/net/rpc/nfs", "rpc 5 0 0\n");
  EXPECT_EQ(Sample(kNfs).Get("", "Calls/sec"), 5);
}

TEST_F(LinuxNfsClientTest, SkipsMalformedText) {
  Write("proc/net/rpc/nfs", "rpc\nrpc 1 x 2\nproc3\nproc3 y\n\nproc9 3 1\n");
  EXPECT_EQ(Sample(kNfs).rows.at(""),
            (Values{{"Calls/sec", 1}, {"Authentication Refreshes/sec", 2}}));
}

}  // namespace
}  // namespace fleetperf::agent
