#include "agent/source/linux/network/protocol_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;

constexpr std::optional<uint64_t> kNoNumber;

constexpr size_t kStatisticsColumns = 3;

template <typename Format>
std::vector<std::optional<uint64_t>> ReadColumns(absl::string_view text,
                                                 Format* format) {
  CountersetSample sample;
  sample.Reset(kStatisticsColumns);
  sample.AddInstance("", 0);
  format->Read(text, &sample);
  std::vector<std::optional<uint64_t>> values;
  for (size_t i = 0; i < kStatisticsColumns; ++i) {
    values.push_back(sample.HasValue(0, i) ? std::optional(sample.Value(0, i))
                                           : std::nullopt);
  }
  return values;
}

TEST(FieldsOfTest, SplitsSumsAndSections) {
  const LinuxCounter counters[] = {
      {{0, 0, "a", ""}, "", "/proc/net/snmp Tcp InSegs + Tcp OutSegs"},
      {{1, 0, "b", ""}, "", "/proc/net/snmp6 Udp6InErrors"},
  };
  EXPECT_THAT(FieldsOf(counters),
              ElementsAre(StatisticsField{"Tcp", "InSegs", 0},
                          StatisticsField{"Tcp", "OutSegs", 0},
                          StatisticsField{"", "Udp6InErrors", 1}));
}

class LinePairsTest : public ::testing::Test {
 protected:
  std::vector<std::optional<uint64_t>> Read(absl::string_view text) {
    return ReadColumns(text, &pairs_);
  }

  // Column 0 is a sum, and its second field is also column 1.
  LinePairs pairs_{std::vector<StatisticsField>{{"Tcp", "In", 0},
                                                {"Tcp", "Out", 0},
                                                {"Tcp", "Out", 1},
                                                {"TcpExt", "In", 2}}};
};

TEST_F(LinePairsTest, FindsFieldsBySectionAndName) {
  EXPECT_THAT(Read("Ip: In Out\n"
                   "Ip: 1 2\n"
                   "Tcp: Max Out Rto In\n"
                   "Tcp: -1 30 4 500\n"
                   "TcpExt: In\n"
                   "TcpExt: 18446744073709551615\n"),
              ElementsAre(530, 30, kNoNumber));
}

TEST_F(LinePairsTest, FollowsAChangedLayout) {
  EXPECT_THAT(Read("Tcp: In Out\nTcp: 1 2\n"), ElementsAre(3, 2, kNoNumber));
  EXPECT_THAT(Read("Tcp: In Out\nTcp: 3 4\n"), ElementsAre(7, 4, kNoNumber));
  EXPECT_THAT(Read("Tcp: Out In\nTcp: 5 60\n"), ElementsAre(65, 5, kNoNumber));
  EXPECT_THAT(Read("Tcp: New Out\nTcp: 7 8\nTcpExt: In\nTcpExt: 9\n"),
              ElementsAre(kNoNumber, 8, 9));
}

TEST_F(LinePairsTest, SkipsMissingAndNegativeNumbers) {
  EXPECT_THAT(Read("Tcp: In Out\nTcp: 1\n"),
              ElementsAre(kNoNumber, kNoNumber, kNoNumber));
  EXPECT_THAT(Read("Tcp: In Out\nTcp: -1 2\n"),
              ElementsAre(kNoNumber, 2, kNoNumber));
  EXPECT_THAT(Read("Tcp: In Out\nTcp:\nTcpExt: In\nTcpExt: x\n"),
              ElementsAre(kNoNumber, kNoNumber, kNoNumber));
}

TEST_F(LinePairsTest, StopsAtALineWithoutItsPair) {
  for (const char* text : {"", "\n", "Tcp", "Tcp:", "Tcp: In Out",
                           "Tcp: In Out\nTcpExt: In\nTcpExt: 1\n"}) {
    EXPECT_THAT(Read(text), ElementsAre(kNoNumber, kNoNumber, kNoNumber))
        << text;
  }
}

class NamedLinesTest : public ::testing::Test {
 protected:
  std::vector<std::optional<uint64_t>> Read(absl::string_view text) {
    return ReadColumns(text, &lines_);
  }

  NamedLines lines_{std::vector<StatisticsField>{
      {"", "In", 0}, {"", "Out", 0}, {"", "Out", 1}, {"", "Errors", 2}}};
};

TEST_F(NamedLinesTest, FindsFieldsByName) {
  EXPECT_THAT(Read("InOctets                \t1\n"
                   "Out                     \t20\n"
                   "In                      \t300\n"
                   "Errors                  \t4\n"),
              ElementsAre(320, 20, 4));
}

// The kernel lists message types when the first message was counted.
TEST_F(NamedLinesTest, FollowsAChangedLayout) {
  EXPECT_THAT(Read("In 1\nOut 2\nErrors 3\n"), ElementsAre(3, 2, 3));
  EXPECT_THAT(Read("In 4\nType135 9\nOut 5\nErrors 6\n"), ElementsAre(9, 5, 6));
  EXPECT_THAT(Read("In 7\nErrors 8\n"), ElementsAre(kNoNumber, kNoNumber, 8));
  EXPECT_THAT(Read("In12 7\nErrors 8\n"), ElementsAre(kNoNumber, kNoNumber, 8));
}

TEST_F(NamedLinesTest, ToleratesCutText) {
  EXPECT_THAT(Read(""), ElementsAre(kNoNumber, kNoNumber, kNoNumber));
  EXPECT_THAT(Read("In 1\nOut 2\nErrors 3\n"), ElementsAre(3, 2, 3));
  EXPECT_THAT(Read("In 1\nOut"), ElementsAre(kNoNumber, kNoNumber, kNoNumber));
  EXPECT_THAT(Read("In x\nOut 2\n"), ElementsAre(kNoNumber, 2, kNoNumber));
}

}  // namespace
}  // namespace fleetperf::agent
