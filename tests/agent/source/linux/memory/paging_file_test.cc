#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::kKib;
using testing::Reading;
using testing::Values;

constexpr char kPagingFile[] = "Paging File";

class PagingFileTest : public testing::LinuxFixture {
 protected:
  void WriteSwaps(absl::string_view lines) {
    Write("proc/swaps",
          absl::StrCat("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
                       lines));
  }
};

TEST_F(PagingFileTest, ReadsEveryCounter) {
  WriteSwaps(
      "/dev/dm-1                               partition\t4194300\t\t1048575"
      "\t\t-2\n"
      "/my\\040swap\\134file\\040(deleted)         "
      "file\t\t1000000\t\t0\t\t5\n");
  const Reading reading = Sample(kPagingFile);
  EXPECT_THAT(reading.names,
              ElementsAre("/dev/dm-1", "/my swap\\file (deleted)", "_Total"));
  EXPECT_EQ(reading.rows.at("/dev/dm-1"),
            (Values{
                // PERF_RAW_FRACTION: 100 * this / id:1100 is 25 %.
                {"% Usage", 1048575},
                {"% Usage Peak", 1048575},
                {"id:1100", 4194300},
                {"Size Bytes", 4194300 * kKib},
                {"Used Bytes", 1048575 * kKib},
            }));
  EXPECT_EQ(reading.rows.at("_Total"), (Values{
                                           {"% Usage", 1048575},
                                           {"% Usage Peak", 1048575},
                                           {"id:1100", 5194300},
                                           {"Size Bytes", 5194300 * kKib},
                                           {"Used Bytes", 1048575 * kKib},
                                       }));
}

TEST_F(PagingFileTest, KeepsPeaks) {
  WriteSwaps("/a file 1000 600 -2\n/b file 1000 100 -3\n");
  Sample(kPagingFile);
  WriteSwaps("/a file 1000 200 -2\n/b file 1000 300 -3\n");
  const Reading reading = Sample(kPagingFile);
  EXPECT_EQ(reading.Get("/a", "% Usage"), 200);
  EXPECT_EQ(reading.Get("/a", "% Usage Peak"), 600);
  EXPECT_EQ(reading.Get("/b", "% Usage Peak"), 300);
  EXPECT_EQ(reading.Get("_Total", "% Usage"), 500);
  EXPECT_EQ(reading.Get("_Total", "% Usage Peak"), 700);
}

TEST_F(PagingFileTest, FollowsSwapSpacesThatComeAndGo) {
  WriteSwaps("/a file 1000 600 -2\n/b file 2000 100 -3\n");
  const Reading before = Sample(kPagingFile);
  WriteSwaps("/b file 2000 100 -2\n");
  const Reading between = Sample(kPagingFile);
  EXPECT_THAT(between.names, ElementsAre("/b", "_Total"));
  EXPECT_EQ(between.ids.at("/b"), before.ids.at("/b"));
  WriteSwaps("/b file 2000 100 -2\n/a file 1000 1 -3\n");
  const Reading after = Sample(kPagingFile);
  EXPECT_NE(after.ids.at("/a"), before.ids.at("/a"));  // another life
  EXPECT_EQ(after.Get("/a", "% Usage Peak"), 1);
  // The peak of a larger swap space does not exceed the current one.
  WriteSwaps("/a file 100 1 -3\n");
  EXPECT_EQ(Sample(kPagingFile).Get("_Total", "% Usage Peak"), 100);
}

TEST_F(PagingFileTest, HasNoValuesWithoutSwap) {
  WriteSwaps("");
  const Reading reading = Sample(kPagingFile);
  EXPECT_THAT(reading.names, ElementsAre("_Total"));
  EXPECT_EQ(reading.Get("_Total", "% Usage"), std::nullopt);
}

TEST_F(PagingFileTest, HasNoInstancesIfTheKernelLacksSwap) {
  const Reading reading = Sample(kPagingFile);
  EXPECT_THAT(reading.names, ElementsAre());
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
}

TEST_F(PagingFileTest, SkipsMalformedLines) {
  WriteSwaps("/a file\n\n/b file 10 x -2\n/c file 10 5\n/d\\04 file 1 1 1\n");
  EXPECT_THAT(Sample(kPagingFile).names, ElementsAre("/c", "/d\\04", "_Total"));
}

}  // namespace
}  // namespace fleetperf::agent
