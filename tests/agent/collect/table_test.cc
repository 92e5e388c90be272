#include "agent/collect/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "perflib/utf16.h"
#include "tests/support/block_bytes.h"

namespace fleetperf::agent {
namespace {

using perflib::kWildcardCounter;
using testing::Block;
using testing::ByteBuilder;
using testing::CounterIds;
using ::testing::ElementsAre;
using testing::Instance;
using testing::InstanceList;
using testing::kCounters;
using testing::kError;
using testing::kInstances;
using testing::kSet;
using testing::kSingle;
using testing::Result;
using testing::Value;
using testing::Value32;
using testing::Value64;

constexpr uint32_t kReads = 5;
constexpr uint32_t kWrites = 9;

// A result and the counter of its query.
struct Answer {
  std::string result;
  uint32_t counter_id = kWildcardCounter;
};

class TableTest : public ::testing::Test {
 protected:
  bool Assemble(const std::vector<Answer>& answers) {
    std::vector<std::string> results;
    for (const Answer& answer : answers) results.push_back(answer.result);
    bytes_ = Block(results);
    perflib::ReadBlock(bytes_, &block_);
    EXPECT_EQ(block_.results.size(), answers.size());
    std::vector<Table::Part> parts;
    for (size_t i = 0; i < block_.results.size(); ++i) {
      parts.push_back({&block_.results[i], answers[i].counter_id});
    }
    return table_.Assemble(block_, parts);
  }

  // Returns "sda:8 r=1 w=2" for each row, with "-" for a missing value.
  std::vector<std::string> Rows() const {
    std::vector<std::string> rows;
    for (size_t row = 0; row < table_.rows(); ++row) {
      const auto value = [&](size_t column) {
        const uint32_t size = table_.ValueSize(column, row);
        return size == 4 || size == 8 ? absl::StrCat(table_.Value(column, row))
                                      : std::string("-");
      };
      rows.push_back(absl::StrCat(perflib::Utf8FromUtf16(table_.Utf16Name(row)),
                                  ":", table_.InstanceId(row), " r=", value(0),
                                  " w=", value(1)));
    }
    return rows;
  }

  Table table_{{kReads, kWrites}};

 private:
  std::string bytes_;
  perflib::ParsedBlock block_;
};

// Two instances with these values.
std::string Disks(const std::string& a, const std::string& b) {
  return InstanceList(2, Instance("sda", 8) + a + Instance("sdb", 16) + b);
}

TEST_F(TableTest, ReadsAResultWithAllCounters) {
  // In the provider's order, with one unwanted counter.
  ASSERT_TRUE(Assemble(
      {{Result(kSet, CounterIds({kWrites, 7, kReads}) +
                         Disks(Value64(2) + Value64(70) + Value64(1),
                               Value64(4) + Value64(71) + Value32(3)))}}));
  EXPECT_THAT(Rows(), ElementsAre("sda:8 r=1 w=2", "sdb:16 r=3 w=4"));
  EXPECT_TRUE(table_.complete());
  EXPECT_EQ(table_.ValueSize(0, 0), 8);
  EXPECT_EQ(table_.ValueSize(0, 1), 4);
}

TEST_F(TableTest, JoinsResultsOfSingleCounters) {
  ASSERT_TRUE(
      Assemble({{Result(kInstances, Disks(Value64(2), Value64(4))), kWrites},
                {Result(kInstances, Disks(Value64(1), Value64(3))), kReads}}));
  EXPECT_THAT(Rows(), ElementsAre("sda:8 r=1 w=2", "sdb:16 r=3 w=4"));
}

TEST_F(TableTest, HasOneNamelessRowWithoutInstances) {
  ASSERT_TRUE(Assemble({{Result(
      kCounters, CounterIds({kReads, kWrites}) + Value64(1) + Value64(2))}}));
  EXPECT_THAT(Rows(), ElementsAre(":0 r=1 w=2"));
  ASSERT_TRUE(Assemble({{Result(kSingle, Value64(4)), kWrites},
                        {Result(kSingle, Value64(3)), kReads}}));
  EXPECT_THAT(Rows(), ElementsAre(":0 r=3 w=4"));
}

TEST_F(TableTest, HasNoRowsIfThereAreNoInstances) {
  ASSERT_TRUE(
      Assemble({{Result(kSet, CounterIds({kReads}) + InstanceList(0, ""))}}));
  EXPECT_THAT(Rows(), ElementsAre());
  EXPECT_TRUE(table_.complete());
}

TEST_F(TableTest, MatchesDifferentLists) {
  ASSERT_TRUE(
      Assemble({{Result(kInstances, Disks(Value64(1), Value64(3))), kReads},
                {Result(kInstances,
                        InstanceList(3, Instance("new", 1) + Value64(8) +
                                            Instance("sdb", 16) + Value64(4) +
                                            Instance("sda", 7) + Value64(9))),
                 kWrites}}));
  EXPECT_THAT(Rows(), ElementsAre("sda:8 r=1 w=-", "sdb:16 r=3 w=4"));
}

TEST_F(TableTest, MatchesTwinsByTheirOrder) {
  ASSERT_TRUE(Assemble(
      {{Result(kInstances, InstanceList(3, Instance("a", 1) + Value64(1) +
                                               Instance("b", 1) + Value64(2) +
                                               Instance("a", 1) + Value64(3))),
        kReads},
       {Result(kInstances, InstanceList(3, Instance("a", 1) + Value64(10) +
                                               Instance("a", 1) + Value64(30) +
                                               Instance("a", 1) + Value64(40))),
        kWrites}}));
  EXPECT_THAT(Rows(),
              ElementsAre("a:1 r=1 w=10", "b:1 r=2 w=-", "a:1 r=3 w=30"));
}

TEST_F(TableTest, OmitsFailedResults) {
  ASSERT_TRUE(
      Assemble({{Result(kError, "", 5), kReads},
                {Result(kInstances, Disks(Value64(2), Value(""))), kWrites}}));
  EXPECT_THAT(Rows(), ElementsAre("sda:8 r=- w=2", "sdb:16 r=- w=-"));
  EXPECT_TRUE(table_.complete());
}

TEST_F(TableTest, FailsWithTheFirstErrorIfAllAreErrors) {
  EXPECT_FALSE(Assemble(
      {{Result(kError, "", 232), kReads}, {Result(kError, "", 5), kWrites}}));
  EXPECT_EQ(table_.failure_status(), 232);
  EXPECT_FALSE(Assemble({}));
  EXPECT_EQ(table_.failure_status(), 0);
}

TEST_F(TableTest, TakesRowsFromAValidResult) {
  // The second instance of the first result has no value.
  const std::string cut =
      InstanceList(2, Instance("sda", 8) + Value64(1) + Instance("sdb", 16));
  ASSERT_TRUE(
      Assemble({{Result(kInstances, cut), kReads},
                {Result(kInstances, Disks(Value64(2), Value64(4))), kWrites}}));
  EXPECT_TRUE(table_.complete());
  EXPECT_THAT(Rows(), ElementsAre("sda:8 r=1 w=2", "sdb:16 r=- w=4"));
  ASSERT_TRUE(Assemble({{Result(kInstances, cut), kReads}}));
  EXPECT_FALSE(table_.complete());
  EXPECT_THAT(Rows(), ElementsAre("sda:8 r=1 w=-", "sdb:16 r=- w=-"));
}

TEST_F(TableTest, DistinguishesRejectedFromMissingValues) {
  // dwDataSize is 9 where the value has 8 bytes.
  const std::string bad = testing::WithU32(Value64(7), 0, 9);
  ASSERT_TRUE(
      Assemble({{Result(kInstances, Disks(bad, Value64(3))), kReads},
                {Result(kInstances, Disks(Value(""), Value64(4))), kWrites}}));
  EXPECT_THAT(Rows(), ElementsAre("sda:8 r=- w=-", "sdb:16 r=3 w=4"));
  EXPECT_EQ(table_.ValueSize(0, 0), perflib::kRejectedValue);
  EXPECT_EQ(table_.ValueSize(1, 0), 0);
}

// An unreadable result has no rows, not an instance without a name.
TEST_F(TableTest, FailsIfNoResultHasRows) {
  const Answer kUnreadable[] = {
      {Result(5, Value64(1))},           // dwType 5 does not exist
      {Result(kSet, "")},                // no PERF_MULTI_COUNTERS
      {Result(kInstances, ""), kReads},  // no PERF_MULTI_INSTANCES
      {Result(kSingle, ""), kReads},     // no PERF_COUNTER_DATA
      {Result(kCounters, CounterIds({kReads}))},
      {Result(kInstances, InstanceList(2, "")), kReads},
  };
  for (const Answer& answer : kUnreadable) {
    EXPECT_FALSE(Assemble({answer}));
    EXPECT_EQ(table_.failure_status(), 0);
    // Sound results before and after the bad one still count.
    const Answer sound = {Result(kInstances, Disks(Value64(2), Value64(4))),
                          kWrites};
    for (const auto& answers :
         {std::vector{answer, sound}, std::vector{sound, answer}}) {
      ASSERT_TRUE(Assemble(answers));
      EXPECT_THAT(Rows(), ElementsAre("sda:8 r=- w=2", "sdb:16 r=- w=4"));
    }
  }
}

TEST_F(TableTest, IgnoresAResultOfAnotherShape) {
  ASSERT_TRUE(
      Assemble({{Result(kInstances, Disks(Value64(1), Value64(3))), kReads},
                {Result(kSingle, Value64(9)), kWrites}}));
  EXPECT_THAT(Rows(), ElementsAre("sda:8 r=1 w=-", "sdb:16 r=3 w=-"));
}

}  // namespace
}  // namespace fleetperf::agent
