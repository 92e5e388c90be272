// Queries, as defined by PerfLib's consumer functions, of countersets filled by
// the test.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/source/linux/counters.h"
#include "agent/source/provider_source.h"
#include "perflib/block_reader.h"
#include "perflib/counter_type.h"
#include "perflib/utf16.h"
#include "tests/support/block_bytes.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using ::testing::ElementsAre;
using testing::Instance;
using testing::InstanceList;
using testing::kError;
using testing::kInstances;
using testing::kSet;
using testing::kSingle;
using testing::Result;
using testing::StatusIs;
using testing::Value;
using testing::Value64;

constexpr char kDisksText[] = "{00000001-0000-0000-0000-000000000000}";
constexpr char kSystemText[] = "{00000002-0000-0000-0000-000000000000}";
const perflib::Guid kDisks = *perflib::ParseGuid(kDisksText);
const perflib::Guid kSystem = *perflib::ParseGuid(kSystemText);
const perflib::Guid kUnknown =
    *perflib::ParseGuid("{00000003-0000-0000-0000-000000000000}");

constexpr CounterSpec kSpecs[] = {
    {5, perflib::kPerfCounterBulkCount, "Reads/sec", "help"},
    {9, perflib::kPerfCounterBulkCount, "Writes/sec", "help"},
};

// Has rows added by the test. Values are 10 * row + column; "Writes/sec" of row
// 1 is absent.
class FakeProvider : public Provider {
 public:
  FakeProvider(absl::string_view guid, uint32_t instance_type)
      : Provider(
            MakeRegistration(guid, "name", "help", instance_type, kSpecs)) {}

  absl::Status Sample(ColumnSet columns, const perflib::Clocks&,
                      CountersetSample* sample) override {
    needed.push_back(columns);
    for (size_t row = 0; row < instances.size(); ++row) {
      sample->AddInstance(perflib::Utf16FromUtf8(instances[row].name),
                          instances[row].instance_id);
      sample->Set(0, 10 * row);
      if (row != 1) sample->Set(1, 10 * row + 1);
    }
    return status;
  }

  std::vector<perflib::InstanceName> instances;
  absl::Status status;
  std::vector<ColumnSet> needed;  // per call
};

class QueryHandleTest : public ::testing::Test {
 protected:
  QueryHandleTest() {
    auto disks = std::make_unique<FakeProvider>(
        kDisksText, perflib::kCountersetMultipleInstances);
    auto system = std::make_unique<FakeProvider>(
        kSystemText, perflib::kCountersetSingleInstance);
    disks_ = disks.get();
    disks_->instances = {{"sda", 8}, {"sdb", 16}, {"_Total", 0}};
    system_ = system.get();
    system_->instances = {{"", 0}};
    std::vector<std::unique_ptr<Provider>> providers;
    providers.push_back(std::move(disks));
    providers.push_back(std::move(system));
    source_ = MakeProviderSource(std::move(providers), clock_);
    handle_ = source_->OpenQueryHandle().value();
  }

  // Returns the statuses of the identifiers.
  std::vector<uint32_t> Add(std::vector<CounterIdentifier> identifiers) {
    EXPECT_OK(handle_->AddCounters(&identifiers));
    return Statuses(identifiers);
  }
  std::vector<uint32_t> Delete(std::vector<CounterIdentifier> identifiers) {
    EXPECT_OK(handle_->DeleteCounters(&identifiers));
    return Statuses(identifiers);
  }
  // Returns the block's results: the bytes after its header.
  std::string QueryResults() {
    std::string block;
    EXPECT_OK(handle_->QueryCounterData(&block));
    return block.substr(48);
  }

  testing::SimulatedClock clock_;
  FakeProvider* disks_;
  FakeProvider* system_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<QueryHandle> handle_;

 private:
  static std::vector<uint32_t> Statuses(
      const std::vector<CounterIdentifier>& identifiers) {
    std::vector<uint32_t> statuses;
    for (const auto& identifier : identifiers) {
      statuses.push_back(identifier.status);
    }
    return statuses;
  }
};

TEST_F(QueryHandleTest, ResultTypeFollowsTheQuery) {
  const std::string ids = testing::CounterIds({5, 9});
  const struct {
    const char* name;
    CounterIdentifier query;
    std::string result;
  } kCases[] = {
      {"all counters of all instances",
       {.counterset = kDisks, .instance = "*"},
       Result(kSet, ids + InstanceList(3, Instance("sda", 8) + Value64(0) +
                                              Value64(1) + Instance("sdb", 16) +
                                              Value64(10) + Value("") +
                                              Instance("_Total", 0) +
                                              Value64(20) + Value64(21)))},
      {"one counter of all instances",
       {.counterset = kDisks, .counter_id = 9, .instance = "*"},
       Result(kInstances,
              InstanceList(3, Instance("sda", 8) + Value64(1) +
                                  Instance("sdb", 16) + Value("") +
                                  Instance("_Total", 0) + Value64(21)))},
      {"all counters of one instance",
       {.counterset = kDisks, .instance = "sdb"},
       Result(testing::kCounters, ids + Value64(10) + Value(""))},
      {"one counter of one instance",
       {.counterset = kDisks, .counter_id = 5, .instance = "_Total"},
       Result(kSingle, Value64(20))},
      {"an instance in another case",
       {.counterset = kDisks, .counter_id = 5, .instance = "SDB"},
       Result(kSingle, Value64(10))},
      {"an instance with its id",
       {.counterset = kDisks,
        .counter_id = 5,
        .instance = "sdb",
        .instance_id = 16},
       Result(kSingle, Value64(10))},
      {"an instance with another id",
       {.counterset = kDisks,
        .counter_id = 5,
        .instance = "sdb",
        .instance_id = 17},
       Result(kError, "", perflib::kErrorNoData)},
      {"all instances with an id",
       {.counterset = kDisks,
        .counter_id = 5,
        .instance = "*",
        .instance_id = 8},
       Result(kInstances, InstanceList(1, Instance("sda", 8) + Value64(0)))},
      {"an instance that is not there",
       {.counterset = kDisks, .instance = "sdz"},
       Result(kError, "", perflib::kErrorNoData)},
      {"all counters of a counterset without instances",
       {.counterset = kSystem},
       Result(testing::kCounters, ids + Value64(0) + Value64(1))},
      {"one counter of a counterset without instances",
       {.counterset = kSystem, .counter_id = 9},
       Result(kSingle, Value64(1))},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.name);
    EXPECT_THAT(Add({test.query}), ElementsAre(0));
    EXPECT_EQ(QueryResults(), test.result);
    EXPECT_THAT(Delete({test.query}), ElementsAre(0));
    EXPECT_EQ(QueryResults(), "");
  }
}

TEST_F(QueryHandleTest, FollowsInstancesThatComeAndGo) {
  Add({{.counterset = kDisks, .counter_id = 5, .instance = "sdb"}});
  disks_->instances = {{"sda", 8}};
  EXPECT_EQ(QueryResults(), Result(kError, "", perflib::kErrorNoData));
  disks_->instances = {{"sda", 8}, {"sdb", 32}};
  EXPECT_EQ(QueryResults(), Result(kSingle, Value64(10)));
}

TEST_F(QueryHandleTest, RejectsInvalidQueriesAndKeepsTheOthers) {
  EXPECT_THAT(Add({{.counterset = kUnknown, .instance = "*"},
                   {.counterset = kDisks, .counter_id = 6, .instance = "*"},
                   {.counterset = kDisks, .counter_id = 5},
                   {.counterset = kSystem, .counter_id = 5, .instance = "*"},
                   {.counterset = kDisks, .counter_id = 5, .instance = "sda"},
                   {.counterset = kDisks, .counter_id = 5, .instance = "sda"}}),
              ElementsAre(4200, 4202, 87, 87, 0, 183));
  EXPECT_THAT(Add({{.counterset = kDisks, .counter_id = 5, .instance = "sda"},
                   {.counterset = kDisks, .counter_id = 9, .instance = "sda"}}),
              ElementsAre(183, 0));
  EXPECT_EQ(QueryResults(),
            Result(kSingle, Value64(0)) + Result(kSingle, Value64(1)));
}

TEST_F(QueryHandleTest, ReportsTheIndexOfEachResult) {
  const CounterIdentifier disks = {.counterset = kDisks, .instance = "*"};
  const CounterIdentifier sda = {
      .counterset = kDisks, .counter_id = 5, .instance = "sda"};
  const CounterIdentifier system = {.counterset = kSystem, .counter_id = 9};
  Add({disks, sda, system});
  EXPECT_THAT(Delete({disks, {.counterset = kUnknown, .instance = "*"}}),
              ElementsAre(0, perflib::kErrorPathNotFound));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, handle_->QueryCounterInfo());
  ASSERT_OK_AND_ASSIGN(const auto identifiers,
                       perflib::ReadCounterIdentifiers(bytes));
  CounterIdentifier second = system;
  second.index = 1;
  EXPECT_THAT(identifiers, ElementsAre(sda, second));
  EXPECT_EQ(QueryResults(),
            Result(kSingle, Value64(0)) + Result(kSingle, Value64(1)));
}

TEST_F(QueryHandleTest, SamplesEachCountersetOnce) {
  Add({{.counterset = kDisks, .counter_id = 9, .instance = "sda"},
       {.counterset = kDisks, .counter_id = 9, .instance = "*"}});
  QueryResults();
  EXPECT_THAT(disks_->needed, ElementsAre(0b10));
  Add({{.counterset = kDisks, .instance = "sdb"}});
  QueryResults();
  EXPECT_THAT(disks_->needed, ElementsAre(0b10, 0b11));
  EXPECT_THAT(system_->needed, ElementsAre());
}

TEST_F(QueryHandleTest, ReportsErrorsPerCounterset) {
  Add({{.counterset = kDisks, .counter_id = 5, .instance = "*"},
       {.counterset = kSystem, .counter_id = 9},
       {.counterset = kDisks, .instance = "sda"}});
  const std::pair<absl::Status, uint32_t> kCases[] = {
      {absl::NotFoundError(""), 3},
      {absl::PermissionDeniedError(""), 5},
      {absl::InternalError(""), 232},
  };
  for (const auto& [status, win32] : kCases) {
    disks_->status = status;
    EXPECT_EQ(QueryResults(), Result(kError, "", win32) +
                                  Result(kSingle, Value64(1)) +
                                  Result(kError, "", win32));
  }
}

TEST_F(QueryHandleTest, SetsTheClocksOfABlock) {
  clock_.Advance(absl::Nanoseconds(1'234'567));
  std::string bytes;
  ASSERT_OK(handle_->QueryCounterData(&bytes));
  perflib::ParsedBlock block;
  perflib::ReadBlock(bytes, &block);
  // SimulatedClock starts an hour after its origin, and at 1'800'000'000 s
  // after 1970, which is 11'644'473'600 s after 1601.
  EXPECT_EQ(
      block.clocks(),
      (perflib::Clocks{.perf_time_stamp = 36'000'000'000 + 12'345,
                       .perf_time_100nsec = 134'444'736'000'000'000 + 12'345,
                       .perf_freq = 10'000'000}));
}

TEST_F(QueryHandleTest, HandlesAreIndependent) {
  Add({{.counterset = kSystem, .counter_id = 9}});
  ASSERT_OK_AND_ASSIGN(const auto other, source_->OpenQueryHandle());
  std::string block;
  ASSERT_OK(other->QueryCounterData(&block));
  EXPECT_EQ(block.size(), 48);
}

TEST_F(QueryHandleTest, EnumeratesInstances) {
  const auto instances = [&](const perflib::Guid& guid) {
    return perflib::ReadInstanceList(
        source_->EnumerateCounterSetInstances(guid).value());
  };
  EXPECT_EQ(instances(kDisks).value(), disks_->instances);
  EXPECT_THAT(instances(kSystem).value(), ElementsAre());
  EXPECT_THAT(
      source_->EnumerateCounterSetInstances(kUnknown),
      StatusIs(absl::StatusCode::kNotFound, ::testing::HasSubstr("(4200)")));
  disks_->status = absl::PermissionDeniedError("no");
  EXPECT_THAT(source_->EnumerateCounterSetInstances(kDisks),
              StatusIs(absl::StatusCode::kPermissionDenied, "no"));
}

}  // namespace
}  // namespace fleetperf::agent
