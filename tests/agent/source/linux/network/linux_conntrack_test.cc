#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using testing::Reading;
using testing::Values;

constexpr char kConntrack[] = "Linux Conntrack";
constexpr char kConntrackNames[] =
    "entries  clashres found new invalid ignore delete chainlength insert "
    "insert_failed drop early_drop icmp_error  expect_new expect_create "
    "expect_delete search_restart\n";

class LinuxConntrackTest : public testing::LinuxFixture {
 protected:
  void WriteStatistics(const std::string& text) {
    Write("proc/net/stat/nf_conntrack", text);
  }
  void WriteAll() {
    Write("proc/sys/net/netfilter/nf_conntrack_count", "77\n");
    Write("proc/sys/net/netfilter/nf_conntrack_max", "262144\n");
    WriteStatistics(
        absl::StrCat(kConntrackNames,
                     "0000004d  00000001 00000010 00000000 00000002 00000000 "
                     "00000000 00000003 00000000 00000004 00000005 00000006 "
                     "00000007  00000000 00000000 00000000 00000008\n"
                     "0000004d  00000010 00000100 00000000 00000020 00000000 "
                     "00000000 00000030 00000000 00000040 00000050 00000060 "
                     "00000070  00000000 00000000 00000000 00000080\n"));
  }
};

TEST_F(LinuxConntrackTest, SumsTheCpus) {
  WriteAll();
  EXPECT_EQ(Sample(kConntrack).rows.at(""), (Values{
                                                {"Entries", 77},
                                                {"Entries Limit", 262144},
                                                {"% Entries Used", 77},
                                                {"id:1100", 262144},
                                                {"Insert Failures", 0x44},
                                                {"Drops", 0x55},
                                                {"Early Drops", 0x66},
                                                {"Chains Too Long", 0x33},
                                                {"Invalid Packets/sec", 0x22},
                                                {"ICMP Errors/sec", 0x77},
                                                {"Found/sec", 0x110},
                                                {"Clashes/sec", 0x11},
                                                {"Search Restarts/sec", 0x88},
                                            }));
}

// The counters of each CPU have 32 bits.
TEST_F(LinuxConntrackTest, DoesNotWrap) {
  WriteStatistics("entries found drop\n0 fffffff0 fffffffe\n0 1 00000002\n");
  EXPECT_EQ(Sample(kConntrack).Get("", "Drops"), 0xFFFFFFFE + uint64_t{2});
  WriteStatistics("entries found drop\n0 fffffff0 00000004\n0 1 00000003\n");
  EXPECT_EQ(Sample(kConntrack).Get("", "Drops"), 0x100000004 + uint64_t{3});
}

// As in Linux 4.18.
TEST_F(LinuxConntrackTest, FindsFieldsByName) {
  WriteStatistics(
      "entries  searched found new invalid ignore delete delete_list insert "
      "insert_failed drop early_drop icmp_error  expect_new expect_create "
      "expect_delete search_restart\n"
      "00000000  00000001 00000002 00000003 00000004 00000005 00000006 "
      "00000007 00000008 00000009 0000000a 0000000b 0000000c  0000000d "
      "0000000e 0000000f 00000010\n");
  EXPECT_EQ(Sample(kConntrack).rows.at(""),
            (Values{{"Insert Failures", 9},
                    {"Drops", 10},
                    {"Early Drops", 11},
                    {"Invalid Packets/sec", 4},
                    {"ICMP Errors/sec", 12},
                    {"Found/sec", 2},
                    {"Search Restarts/sec", 16}}));
}

// The module is loaded later.
TEST_F(LinuxConntrackTest, HasNoValuesWithoutConnectionTracking) {
  Reading reading = Sample(kConntrack);
  EXPECT_EQ(reading.error_status, perflib::kErrorSuccess);
  EXPECT_EQ(reading.rows.at(""), Values{});
  WriteAll();
  reading = Sample(kConntrack);
  EXPECT_EQ(reading.Get("", "Entries"), 77);
  EXPECT_EQ(reading.Get("", "Drops"), 0x55);
}

TEST_F(LinuxConntrackTest, SkipsMalformedText) {
  Write("proc/sys/net/netfilter/nf_conntrack_count", "\n");
  WriteStatistics("entries drop found\n1 2 3\n6 7\n");
  // A part of the CPUs is not the whole.
  EXPECT_EQ(Sample(kConntrack).rows.at(""), (Values{{"Drops", 9}}));
  WriteStatistics("entries drop found\n1 2 3\n4 x 5\n");
  EXPECT_EQ(Sample(kConntrack).rows.at(""), Values{});
  WriteStatistics("");
  EXPECT_EQ(Sample(kConntrack).rows.at(""), Values{});
}

}  // namespace
}  // namespace fleetperf::agent
