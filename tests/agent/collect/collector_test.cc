#include "agent/collect/collector.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/agent/collect/fake_source.h"
#include "tests/agent/collect/samples_text.h"
#include "tests/agent/collect/test_countersets.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using ::testing::ElementsAre;
using testing::FakeSource;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kDiskGuid;
using testing::kProcessGuid;
using testing::kSystemGuid;
using testing::StatusIs;
using testing::Value;
using testing::Value32;
using testing::Value64;
using Script = FakeSource::Script;

class CollectorTest : public ::testing::Test {
 protected:
  // Opens a collector for a plan with these queries.
  absl::Status Open(const std::vector<PlannedQuery>& queries,
                    const std::vector<InstanceRule>& rules = {}) {
    auto collector =
        Collector::Open(&source_, /*handle_number=*/7,
                        ResolvePlan({.queries = queries, .rules = rules},
                                    "web-1", testing::TestRegistrations())
                            .queries,
                        &instances_, &warnings_);
    if (!collector.ok()) return collector.status();
    collector_ = *std::move(collector);
    return absl::OkStatus();
  }

  // Takes a tick. Returns its queries' definitions and rows.
  std::vector<std::vector<std::string>> Collect() {
    samples_ = {};
    problems_.clear();
    EXPECT_OK(collector_->Collect(&samples_, &problems_));
    const v1::Definitions definitions = testing::AllDefinitions(dictionary_);
    std::vector<std::vector<std::string>> texts;
    for (const QuerySamples& query : samples_.queries) {
      texts.push_back(testing::RowTexts(definitions, query));
      texts.back().insert(texts.back().begin(),
                          testing::QueryText(definitions, query.query));
    }
    return texts;
  }

  // The instance definitions of the first query in the last tick.
  const std::vector<uint32_t>& lives() const {
    return samples_.queries[0].instances;
  }

  FakeSource source_{testing::TestRegistrations()};
  Dictionary dictionary_;
  MachineInstances instances_{"web-1", &dictionary_};
  std::unique_ptr<Collector> collector_;
  std::vector<std::string> warnings_;
  BlockSamples samples_;
  std::vector<std::string> problems_;
};

TEST_F(CollectorTest, AddsTheNeededCounters) {
  ASSERT_OK(Open({{.counterset = "Disk"},
                  {.counterset = "System", .counters = {"Threads"}},
                  {.counterset = "Process", .counters = {"id:1"}}}));
  EXPECT_THAT(
      source_.added(),
      ElementsAre(
          // All counters in one query, or one query for each.
          CounterIdentifier{.counterset = kDiskGuid, .instance = "*"},
          CounterIdentifier{.counterset = kSystemGuid, .counter_id = 2},
          CounterIdentifier{
              .counterset = kProcessGuid, .counter_id = 1, .instance = "*"},
          // The start and its clock, which are not sent.
          CounterIdentifier{
              .counterset = kProcessGuid, .counter_id = 3, .instance = "*"},
          CounterIdentifier{
              .counterset = kProcessGuid, .counter_id = 101, .instance = "*"}));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CollectorTest, TurnsABlockIntoSamples) {
  ASSERT_OK(Open({{.counterset = "Disk", .interval = absl::Seconds(5)},
                  {.counterset = "System",
                   .counters = {"Threads"},
                   .interval = absl::Seconds(5)}}));
  source_.SetInstances(kDiskGuid, {{"sda",
                                    8,
                                    {{1, Value64(10)},
                                     {2, Value64(20)},
                                     {3, Value64(30)},
                                     {12, Value32(40)}}},
                                   {"sdb", 16, {{1, Value64(UINT64_MAX)}}}});
  source_.SetInstances(kSystemGuid, {{"", 0, {{2, Value32(500)}}}});
  EXPECT_THAT(
      Collect(),
      ElementsAre(ElementsAre("Disk 5s 1/8 2/8 3/8 12/4L", "sda:8 10 20 30 40",
                              absl::StrCat("sdb:16 ", UINT64_MAX, " - - -")),
                  ElementsAre("System 5s 2/4", ":0 500")));
  EXPECT_EQ(samples_.handle, 7);
  EXPECT_EQ(samples_.interval, absl::Seconds(5));
  EXPECT_EQ(collector_->interval(), absl::Seconds(5));
  EXPECT_EQ(samples_.clocks,
            (perflib::Clocks{.perf_time_stamp = testing::kBlockTimeStamp,
                             .perf_time_100nsec = testing::kBlockTime,
                             .perf_freq = testing::kBlockFreq}));
  EXPECT_THAT(problems_, IsEmpty());
}

// Of sources that return all instances.
TEST_F(CollectorTest, OmitsInstancesThatThePlanExcludes) {
  std::vector<FakeSource::Instance> disks;
  for (const char* name : {"sda", "sdb", "sdc", "_Total"}) {
    disks.push_back({name, 8, {{1, Value64(1)}}});
  }
  source_.SetInstances(kDiskGuid, disks);
  const std::vector<PlannedQuery> queries = {
      {.counterset = "Disk", .counters = {"id:1"}}};
  ASSERT_OK(Open(queries, {{.counterset = "DISK", .exclude = {"sdb", "*l"}}}));
  EXPECT_THAT(Collect(), ElementsAre(ElementsAre("Disk 1s 1/8", "sda:8 1",
                                                 "sdc:8 1", "_Total:8 1")));
  ASSERT_OK(Open(queries, {{.counterset = "Disk", .include = {"sd?"}},
                           {.counterset = "D*", .exclude = {"sdc"}},
                           {.counterset = "Process", .exclude = {"*"}}}));
  EXPECT_THAT(Collect(), ElementsAre(ElementsAre("Disk 1s 1/8", "sda:8 1",
                                                 "sdb:8 1", "_Total:8 1")));
}

TEST_F(CollectorTest, FindsResultsInAnyOrder) {
  source_.Change([](Script& script) { script.reverse = true; });
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:1", "id:3"}},
                  {.counterset = "Process"},
                  {.counterset = "System"}}));
  source_.SetInstances(kDiskGuid,
                       {{"sda", 8, {{1, Value64(1)}, {3, Value64(3)}}}});
  source_.SetInstances(kProcessGuid, {{"a", 1, {{1, Value64(7)}}}});
  source_.SetInstances(kSystemGuid,
                       {{"", 0, {{1, Value32(8)}, {2, Value32(9)}}}});
  EXPECT_THAT(Collect(),
              ElementsAre(ElementsAre("Disk 1s 1/8 3/8", "sda:8 1 3"),
                          ElementsAre("Process 1s 1/8 3/8 101/8L 102/8L",
                                      "a:1 7 - - -"),
                          ElementsAre("System 1s 1/4 2/4", ":0 8 9")));
}

TEST_F(CollectorTest, OmitsRefusedCounters) {
  source_.Change([](Script& script) {
    script.add = [](const CounterIdentifier& identifier) {
      return identifier.counter_id == 1 ? perflib::kErrorItemIdNotFound : 0;
    };
  });
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:1", "id:3"}}}));
  EXPECT_THAT(warnings_, ElementsAre("the source refuses counter 1 of "
                                     "{0000000d-0000-0000-0000-000000000000}: "
                                     "ERROR_WMI_ITEMID_NOT_FOUND (4202)"));
  source_.SetInstances(kDiskGuid,
                       {{"sda", 8, {{1, Value64(1)}, {3, Value64(3)}}}});
  EXPECT_THAT(Collect(),
              ElementsAre(ElementsAre("Disk 1s 1/8 3/8", "sda:8 - 3")));
}

TEST_F(CollectorTest, RedefinesAQueryWhenTheValueSizeChanges) {
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:1"}}}));
  const auto collect = [&](const std::vector<std::string>& values) {
    std::vector<FakeSource::Instance> instances;
    for (const std::string& value : values) {
      instances.push_back(
          {"a", static_cast<uint32_t>(instances.size()), {{1, value}}});
    }
    source_.SetInstances(kDiskGuid, instances);
    return Collect()[0];
  };
  EXPECT_THAT(collect({}), ElementsAre("Disk 1s 1/8"));  // the type's size
  const uint32_t with_8 = samples_.queries[0].query;
  EXPECT_THAT(collect({Value(""), Value32(7), Value64(8)}),
              ElementsAre("Disk 1s 1/4", "a:0 -", "a:1 7", "a:2 -"));
  const uint32_t with_4 = samples_.queries[0].query;
  EXPECT_NE(with_4, with_8);
  EXPECT_THAT(collect({Value(""), Value("x")}),
              ElementsAre("Disk 1s 1/4", "a:0 -", "a:1 -"));
  EXPECT_EQ(samples_.queries[0].query, with_4);
  EXPECT_THAT(collect({Value64(1)}), ElementsAre("Disk 1s 1/8", "a:0 1"));
  EXPECT_EQ(samples_.queries[0].query, with_8);
}

TEST_F(CollectorTest, FollowsAGrowingListOfInstances) {
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:1", "id:3"}}}));
  std::vector<FakeSource::Instance> instances;
  std::vector<uint32_t> last;
  for (uint32_t i = 0; i < 200; ++i) {
    instances.push_back({absl::StrCat("disk", i),
                         i,
                         {{1, Value64(i)}, {3, Value64(1000 + i)}}});
    source_.SetInstances(kDiskGuid, instances);
    const auto rows = Collect()[0];
    ASSERT_EQ(rows.size(), i + 2);
    EXPECT_EQ(rows.back(),
              absl::StrCat("disk", i, ":", i, " ", i, " ", 1000 + i));
    last.push_back(lives().back());
    EXPECT_EQ(lives(), last);  // the other lives continue
  }
}

TEST_F(CollectorTest, AnErrorReturnFailsItsQueryAndEndsNoLife) {
  ASSERT_OK(Open({{.counterset = "Disk"}, {.counterset = "System"}}));
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}}});
  source_.SetInstances(kSystemGuid, {{"", 0, {{1, Value32(1)}}}});
  Collect();
  const auto before = lives();
  source_.Change([](Script& script) {
    script.spoil = [](const CounterIdentifier& identifier, std::string result) {
      return identifier.counterset == kDiskGuid
                 ? testing::Result(testing::kError, "", 232)
                 : result;
    };
  });
  EXPECT_THAT(
      Collect(),
      ElementsAre(ElementsAre("Disk 1s 1/8 2/8 3/8 12/4L", "failed 232"),
                  ElementsAre("System 1s 1/4 2/4", ":0 1 -")));
  EXPECT_THAT(samples_.queries[0].values, IsEmpty());
  source_.Change([](Script& script) { script.spoil = nullptr; });
  Collect();
  EXPECT_EQ(lives(), before);
}

TEST_F(CollectorTest, RejectedBytesAffectOnlyTheirQuery) {
  ASSERT_OK(Open({{.counterset = "Disk"},
                  {.counterset = "Process", .counters = {"id:1"}},
                  {.counterset = "System"}}));
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}}});
  source_.SetInstances(kSystemGuid, {{"", 0, {{1, Value32(1)}}}});
  source_.Change([](Script& script) {
    script.spoil = [](const CounterIdentifier& identifier, std::string result) {
      // PERF_MULTI_COUNTERS claims more ids than the bytes contain.
      return identifier.counterset == kDiskGuid
                 ? testing::WithU32(result, 20, 0xFFFFFFFF)
                 : result;
    };
  });
  EXPECT_THAT(Collect(),
              ElementsAre(ElementsAre("Disk 1s 1/8 2/8 3/8 12/4L", "failed 0"),
                          ElementsAre("Process 1s 1/8"),
                          ElementsAre("System 1s 1/4 2/4", ":0 1 -")));
  EXPECT_THAT(problems_,
              ElementsAre(HasSubstr("PERF_MULTI_COUNTERS.dwCounters is "
                                    "4294967295")));
}

// The instances after the defect may still exist.
TEST_F(CollectorTest, ATruncatedListEndsNoLife) {
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:1"}}}));
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}},
                                   {"sdb", 16, {{1, Value64(2)}}}});
  Collect();
  const auto before = lives();
  source_.Change([](Script& script) {
    script.spoil = [](const CounterIdentifier&, std::string result) {
      // 16 + 8 bytes of headers, sda's 16 + 16, then sdb's Size.
      return testing::WithU32(std::move(result), 56, 0xFFFF);
    };
  });
  EXPECT_THAT(Collect()[0], ElementsAre("Disk 1s 1/8", "sda:8 1"));
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("PERF_INSTANCE_HEADER.Size")));
  source_.Change([](Script& script) { script.spoil = nullptr; });
  Collect();
  EXPECT_EQ(lives(), before);
}

// A PERF_COUNTERSET has a value for each of its counters, where the result of
// one counter has a single one.
TEST_F(CollectorTest, RejectsResultsOfOtherTypesThanTheQuery) {
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:1"}},
                  {.counterset = "Process"},
                  {.counterset = "System"}}));
  source_.SetInstances(kSystemGuid, {{"", 0, {{1, Value32(8)}}}});
  const std::string one_disk =
      testing::InstanceList(1, testing::Instance("sda", 8) + Value64(111));
  const std::string ids = testing::CounterIds({3});
  source_.Change([&](Script& script) {
    script.spoil = [&](const CounterIdentifier& identifier,
                       std::string result) {
      if (identifier.counterset == kDiskGuid) {
        return testing::Result(testing::kSet, ids + one_disk);
      }
      if (identifier.counterset == kProcessGuid) {
        return testing::Result(testing::kInstances, one_disk);
      }
      return result;
    };
  });
  EXPECT_THAT(
      Collect(),
      ElementsAre(ElementsAre("Disk 1s 1/8", "failed 0"),
                  ElementsAre("Process 1s 1/8 3/8 101/8L 102/8L", "failed 0"),
                  ElementsAre("System 1s 1/4 2/4", ":0 8 -")));
  EXPECT_THAT(
      problems_,
      ElementsAre("counterset \"Disk\": dwType is 6 in the result of a query "
                  "of counter 1 of all instances",
                  "counterset \"Process\": dwType is 4 in the result of a "
                  "query of all counters of all instances"));
  // Without instances, where the counterset has some.
  source_.Change([&](Script& script) {
    script.spoil = [](const CounterIdentifier&, std::string) {
      return testing::Result(testing::kSingle, Value64(1));
    };
  });
  EXPECT_THAT(Collect()[0], ElementsAre("Disk 1s 1/8", "failed 0"));
}

// Nothing tells which result is missing, and values of one counter must not
// count as those of another.
TEST_F(CollectorTest, RejectsBlocksOfAnotherNumberOfResults) {
  ASSERT_OK(Open({{.counterset = "System", .counters = {"id:1"}},
                  {.counterset = "Disk", .counters = {"id:1"}}}));
  source_.Change([](Script& script) {
    script.end_block = [](std::string* block) {
      *block = testing::Block({testing::Result(testing::kSingle, Value32(1))});
      return absl::OkStatus();
    };
  });
  EXPECT_THAT(Collect(), ElementsAre(ElementsAre("System 1s 1/4", "failed 0"),
                                     ElementsAre("Disk 1s 1/8", "failed 0")));
  EXPECT_THAT(problems_,
              ElementsAre("dwNumCounters is 1, but the handle has 2 queries; "
                          "their results are not used"));
}

TEST_F(CollectorTest, FailsWithoutABlock) {
  ASSERT_OK(Open({{.counterset = "Disk"}}));
  source_.Change([](Script& script) {
    script.end_block = [](std::string* block) {
      block->resize(47);
      return absl::OkStatus();
    };
  });
  EXPECT_THAT(collector_->Collect(&samples_, &problems_),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("PERF_DATA_HEADER needs 48 bytes")));
  source_.Change([](Script& script) {
    script.end_block = [](std::string*) {
      return absl::UnavailableError("gone");
    };
  });
  EXPECT_THAT(collector_->Collect(&samples_, &problems_),
              StatusIs(absl::StatusCode::kUnavailable, "gone"));
}

TEST_F(CollectorTest, AChangedStartBeginsANewLife) {
  ASSERT_OK(Open({{.counterset = "Process", .counters = {"id:1"}}}));
  const auto life = [&](const std::string& start) {
    source_.SetInstances(kProcessGuid,
                         {{"a", 1, {{1, Value64(5)}, {3, start}}}});
    EXPECT_THAT(Collect()[0], ElementsAre("Process 1s 1/8", "a:1 5"));
    return lives()[0];
  };
  const uint32_t first = life(Value64(1000));
  EXPECT_EQ(life(Value64(1000)), first);
  const uint32_t second = life(Value64(2000));
  EXPECT_NE(second, first);
  // A value that is no number is not a start time.
  EXPECT_EQ(life(Value("")), second);
  EXPECT_EQ(life(Value("xx")), second);
  EXPECT_EQ(life(testing::WithU32(Value64(3000), 0, 9)), second);  // rejected
  EXPECT_EQ(life(Value64(2000)), second);
}

TEST_F(CollectorTest, DefinesBirths) {
  ASSERT_OK(Open({{.counterset = "Process", .counters = {"id:1"}}}));
  const auto process = [](const std::string& name, uint64_t start,
                          uint64_t clock) {
    return FakeSource::Instance{
        name, 1, {{1, Value64(5)}, {3, Value64(start)}, {101, Value64(clock)}}};
  };
  const auto births = [&] {
    std::vector<std::string> born;
    const v1::Definitions definitions = testing::AllDefinitions(dictionary_);
    for (const auto& instance : definitions.instances()) {
      if (instance.is_born()) born.push_back(instance.name());
    }
    return born;
  };
  source_.SetInstances(kProcessGuid, {process("first", 900, 1000)});
  Collect();
  EXPECT_THAT(births(), IsEmpty());
  // "late" started before the last block, but was not listed.
  source_.SetInstances(kProcessGuid,
                       {process("first", 900, 2000), process("late", 950, 2000),
                        process("new", 1500, 2000)});
  Collect();
  EXPECT_THAT(births(), ElementsAre("new"));
}

TEST_F(CollectorTest, CollectsOnlyInstancesInThePlan) {
  ASSERT_OK(Open({{.counterset = "Disk",
                   .counters = {"id:1"},
                   .instances = {"SD*", "_Total"}}}));
  source_.SetInstances(kDiskGuid, {{"loop0", 7, {{1, Value64(1)}}},
                                   {"sda", 8, {{1, Value64(2)}}},
                                   {"dm-0", 253, {{1, Value("")}}},
                                   {"_Total", 0, {{1, Value64(3)}}}});
  EXPECT_THAT(Collect()[0],
              ElementsAre("Disk 1s 1/8", "sda:8 2", "_Total:0 3"));
  EXPECT_THAT(samples_.queries[0].present, IsEmpty());  // nothing is missing
  // The other instances are not defined for the aggregator, either.
  EXPECT_EQ(testing::AllDefinitions(dictionary_).instances_size(), 2);
}

TEST_F(CollectorTest, ALongNameAffectsOnlyItsInstance) {
  const std::string longest(perflib::kMaxInstanceName - 1, 'x');
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:1"}}}));
  source_.SetInstances(kDiskGuid, {{"sda", 8, {{1, Value64(1)}}},
                                   {longest + "x", 0, {{1, Value64(2)}}},
                                   {longest, 0, {{1, Value64(3)}}}});
  EXPECT_THAT(Collect()[0],
              ElementsAre("Disk 1s 1/8", "sda:8 1", longest + ":0 3"));
  EXPECT_THAT(problems_,
              ElementsAre("counterset \"Disk\": an instance's name has 1024 "
                          "characters, as many as PERF_MAX_INSTANCE_NAME or "
                          "more"));
}

TEST_F(CollectorTest, SharesLivesBetweenHandles) {
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:1"}}}));
  source_.SetInstances(kDiskGuid, {{"sda", 8, {}}, {"sda", 8, {}}});
  EXPECT_THAT(Collect()[0], ElementsAre("Disk 1s 1/8", "sda:8 -", "sda:8#1 -"));
  const auto before = lives();
  ASSERT_OK(Open({{.counterset = "Disk", .counters = {"id:3"}}}));
  Collect();
  EXPECT_EQ(lives(), before);
}

TEST_F(CollectorTest, FailsToOpenIfTheSourceDoesNotAnswer) {
  source_.Change([](Script& script) { script.index_offset = 1; });
  EXPECT_THAT(Open({{.counterset = "Disk"}}),
              StatusIs(absl::StatusCode::kDataLoss,
                       "PerfQueryCounterInfo returned Index 1 for 1 queries"));
  source_.Change(
      [](Script& script) { script.open = absl::UnavailableError("no"); });
  EXPECT_THAT(Open({{.counterset = "Disk"}}),
              StatusIs(absl::StatusCode::kUnavailable, "no"));
}

}  // namespace
}  // namespace fleetperf::agent
