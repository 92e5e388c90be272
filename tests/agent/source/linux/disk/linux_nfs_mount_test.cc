#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::Reading;
using testing::Values;

constexpr char kNfsMount[] = "Linux NFS Mount";
constexpr uint64_t kNfsMillisecond = 10'000;  // in units of 100 ns

constexpr char kOtherMounts[] =
    "device proc mounted on /proc with fstype proc\n"
    "device nfsd mounted on /proc/fs/nfsd with fstype nfsd\n"
    "device /dev/sda1 mounted on / with fstype ext4\n";

class LinuxNfsMountTest : public testing::LinuxFixture {
 protected:
  void WriteMounts(const std::string& mounts) {
    Write("proc/self/mountstats", kOtherMounts + mounts);
  }
  static std::string Mount(const std::string& place, const std::string& age,
                           const std::string& operations) {
    return "device server:/export mounted on " + place +
           " with fstype nfs4 statvers=1.1\n"
           "\topts:\trw,vers=4.2,rsize=1048576,proto=tcp\n"
           "\tage:\t" +
           age +
           "\n"
           "\tevents:\t52 226 0 0 1 13 398 0 0 331\n"
           "\tbytes:\t11 12 13 14 5000000000 16 17 18\n"
           "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
           "\txprt:\ttcp 832 1 3 0 11 6428 6428 0 12154 0 24 26 5726\n"
           "\txprt:\ttcp 833 1 4 0 11 6428 6428 0 12154 0 24 26 5726\n"
           "\tper-op statistics\n" +
           operations;
  }
};

TEST_F(LinuxNfsMountTest, ReadsEveryCounter) {
  WriteMounts(Mount("/home", "100",
                    "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
                    "\t        READ: 200 203 1 31744 7960 70 800 900 4\n"
                    "\t       WRITE: 3000 3000 0 1 2 5 60 70 0\n"
                    "\t      LOOKUP: 40000 40010 2 1 2 3 4 9 500\n"));
  const Reading reading = Sample(kNfsMount);
  EXPECT_THAT(reading.names, ElementsAre("/home"));
  EXPECT_EQ(
      reading.rows.at("/home"),
      (Values{{"Operations/sec", 1 + 200 + 3000 + 40000},
              {"Reads/sec", 200},
              {"Writes/sec", 3000},
              {"Read Bytes/sec", 5'000'000'000},
              {"Write Bytes/sec", 16},
              {"Avg. sec/Operation", (900 + 70 + 9) * kNfsMillisecond},
              {"Avg. sec/Read", 900 * kNfsMillisecond},
              {"Avg. sec/Write", 70 * kNfsMillisecond},
              {"Avg. Response sec/Operation", (800 + 60 + 4) * kNfsMillisecond},
              {"Avg. Queue sec/Operation", (70 + 5 + 3) * kNfsMillisecond},
              {"Retransmissions", 3 + 10},
              {"Timeouts", 1 + 2},
              {"Errors", 4 + 500},
              {"Connects", 3 + 4},
              {"id:1100", 1 + 200 + 3000 + 40000},
              {"id:1101", 200},
              {"id:1102", 3000}}));
}

// Kernels before 5.3 do not count errors.
TEST_F(LinuxNfsMountTest, OmitsErrorsOfOldKernels) {
  WriteMounts(Mount("/home", "1", "\t        READ: 2 2 0 31744 7960 1 2 3\n"));
  const Reading reading = Sample(kNfsMount);
  EXPECT_EQ(reading.Get("/home", "Reads/sec"), 2);
  EXPECT_EQ(reading.Get("/home", "Errors"), std::nullopt);
}

TEST_F(LinuxNfsMountTest, HasARowPerMount) {
  const std::string operations = "\tREAD: 2 2 0 0 0 0 0 0 0\n";
  WriteMounts(Mount("/home", "7", operations) + "\n" + kOtherMounts +
              Mount("/my\\040data\\134x", "8", operations));
  const Reading reading = Sample(kNfsMount);
  EXPECT_THAT(reading.names, ElementsAre("/home", "/my data\\x"));
  EXPECT_NE(reading.ids.at("/home"), reading.ids.at("/my data\\x"));
}

// A younger mount at the same place is another one.
TEST_F(LinuxNfsMountTest, DetectsANewMount) {
  const std::string operations = "\tREAD: 2 2 0 0 0 0 0 0 0\n";
  WriteMounts(Mount("/home", "100", operations));
  const uint32_t id = Sample(kNfsMount).ids.at("/home");
  WriteMounts(Mount("/home", "101", operations));
  EXPECT_EQ(Sample(kNfsMount).ids.at("/home"), id);
  WriteMounts(Mount("/home", "5", operations));
  EXPECT_NE(Sample(kNfsMount).ids.at("/home"), id);
  WriteMounts("");
  EXPECT_THAT(Sample(kNfsMount).names, ElementsAre());
}

TEST_F(LinuxNfsMountTest, HasOneRowForMountsAtTheSamePlace) {
  WriteMounts(Mount("/home", "1", "") + Mount("/home", "2", ""));
  EXPECT_THAT(Sample(kNfsMount).names, ElementsAre("/home"));
}

TEST_F(LinuxNfsMountTest, HasNoInstancesWithoutTheFile) {
  const Reading reading = Sample(kNfsMount);
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
  EXPECT_THAT(reading.names, ElementsAre());
}

TEST_F(LinuxNfsMountTest, SkipsMalformedText) {
  WriteMounts(
      "device\ndevice a mounted on\n"
      "device a mounted on /a with fstype nfs\n"
      "\tbytes:\t1\n\txprt:\n\txprt:\tudp 1 2\n\tage:\n"
      "\tper-op statistics\n\tREAD:\n\tREAD: x\n\tWRITE: 5\n\n");
  const Reading reading = Sample(kNfsMount);
  EXPECT_THAT(reading.names, ElementsAre("/a"));
  EXPECT_EQ(reading.Get("/a", "Operations/sec"), 5);
  EXPECT_EQ(reading.Get("/a", "Retransmissions"), std::nullopt);
  EXPECT_EQ(reading.Get("/a", "Reads/sec"), std::nullopt);
}

}  // namespace
}  // namespace fleetperf::agent
