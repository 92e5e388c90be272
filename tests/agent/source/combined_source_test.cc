#include "agent/source/combined_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/own_counterset.h"
#include "perflib/block_reader.h"
#include "perflib/block_writer.h"
#include "perflib/counter_type.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using perflib::CounterIdentifier;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

constexpr char kOwnGuid[] = "{00000001-0000-0000-0000-000000000000}";
const perflib::Guid kOwn = *perflib::ParseGuid(kOwnGuid);
const perflib::Guid kMachineDisks =
    *perflib::ParseGuid("{00000002-0000-0000-0000-000000000000}");

constexpr perflib::Clocks kMachinesClocks = {
    .perf_time_stamp = 5'000, .perf_time_100nsec = 7'000, .perf_freq = 1'000};

// Has one counterset. The result of every query is one value; queries of other
// countersets are refused.
class FakeMachine : public Source {
 public:
  struct State {
    absl::Status status;
    size_t left_out = 0;  // bytes missing at the end of the block
  };

  explicit FakeMachine(const State* state) : state_(*state) {}

  absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() override {
    return std::vector<perflib::Guid>{kMachineDisks};
  }
  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid&, perflib::RegistrationRequest, uint32_t) override {
    return "of the machine";
  }
  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const perflib::Guid&) override {
    return "instances of the machine";
  }
  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    if (!state_.status.ok()) return state_.status;
    return std::make_unique<Handle>(&state_);
  }

 private:
  class Handle : public QueryHandle {
   public:
    explicit Handle(const State* state) : state_(*state) {}

    absl::Status AddCounters(
        std::vector<CounterIdentifier>* identifiers) override {
      for (CounterIdentifier& identifier : *identifiers) {
        const bool known = identifier.counterset == kMachineDisks;
        identifier.status =
            known ? perflib::kErrorSuccess : perflib::kErrorGuidNotFound;
        if (known) queries_.push_back(identifier);
      }
      return absl::OkStatus();
    }
    absl::Status DeleteCounters(std::vector<CounterIdentifier>*) override {
      queries_.clear();
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> QueryCounterInfo() override {
      for (size_t i = 0; i < queries_.size(); ++i) {
        queries_[i].index = static_cast<uint32_t>(i);
      }
      return perflib::WriteCounterIdentifiers(queries_);
    }
    absl::Status QueryCounterData(std::string* block) override {
      perflib::BlockWriter writer(kMachinesClocks, block);
      for (const CounterIdentifier& query : queries_) {
        writer.BeginResult(perflib::HeaderType::kSingleCounter);
        writer.AddValue64(100 + query.counter_id);
        writer.EndResult();
      }
      writer.Finish();
      block->resize(block->size() - state_.left_out);
      return absl::OkStatus();
    }

   private:
    const State& state_;
    std::vector<CounterIdentifier> queries_;
  };

  const State& state_;
};

// Has a problem with each plan.
class ProblemSource : public FakeMachine {
 public:
  ProblemSource(const State* state, std::string problem)
      : FakeMachine(state), problem_(std::move(problem)) {}

  DefinedCounters DefineCounters(std::vector<PlannedQuery>*) override {
    return {.changed = {}, .problems = {{.query = 0, .message = problem_}}};
  }

 private:
  const std::string problem_;
};

TEST(CombinedSource, DefinesCountersOfBothSources) {
  const FakeMachine::State state;
  const auto source =
      CombineSources(std::make_unique<ProblemSource>(&state, "machine"),
                     std::make_unique<ProblemSource>(&state, "own"));
  std::vector<PlannedQuery> queries(1);
  std::vector<std::string> problems;
  for (const auto& problem : source->DefineCounters(&queries).problems) {
    problems.push_back(problem.message);
  }
  EXPECT_THAT(problems, ElementsAre("machine", "own"));
}

class CombinedSourceTest : public ::testing::Test {
 protected:
  CombinedSourceTest()
      : own_(kOwnGuid, "Own", "help",
             {{{{1, perflib::kPerfCounterBulkCount, "Ticks/sec", ""},
                {2, perflib::kPerfCounterLargeRawcount, "Backlog", ""}},
               [this] {
                 return OwnCounterset::Values{ticks_, 42};
               }}}),
        source_(CombineSources(std::make_unique<FakeMachine>(&machine_),
                               MakeOwnSource(&own_, clock_))),
        handle_(source_->OpenQueryHandle().value()) {}

  std::vector<uint32_t> Add(std::vector<CounterIdentifier> identifiers) {
    EXPECT_OK(handle_->AddCounters(&identifiers));
    std::vector<uint32_t> statuses;
    for (const auto& identifier : identifiers) {
      statuses.push_back(identifier.status);
    }
    return statuses;
  }

  // Returns the values of the queries by counter id, as a collector finds them.
  std::map<uint32_t, uint64_t> Values() {
    EXPECT_OK(handle_->QueryCounterData(&bytes_));
    perflib::ReadBlock(bytes_, &block_);
    std::map<uint32_t, uint64_t> values;
    const auto identifiers =
        perflib::ReadCounterIdentifiers(handle_->QueryCounterInfo().value());
    for (const CounterIdentifier& identifier : *identifiers) {
      if (identifier.index >= block_.results.size()) continue;
      const auto result = block_.Values(block_.results[identifier.index]);
      if (result.size() == 1) values[identifier.counter_id] = result[0];
    }
    return values;
  }

  testing::SimulatedClock clock_;
  uint64_t ticks_ = 7;
  FakeMachine::State machine_;
  const OwnCounterset own_;
  const std::unique_ptr<Source> source_;
  const std::unique_ptr<QueryHandle> handle_;
  std::string bytes_;
  perflib::ParsedBlock block_;
};

TEST_F(CombinedSourceTest, ListsCountersetsOfBothSources) {
  EXPECT_THAT(source_->EnumerateCounterSet().value(),
              UnorderedElementsAre(kMachineDisks, kOwn));
  EXPECT_EQ(
      source_
          ->QueryCounterSetRegistrationInfo(
              kMachineDisks, perflib::RegistrationRequest::kCountersetStruct, 0)
          .value(),
      "of the machine");
  const auto own = source_->QueryCounterSetRegistrationInfo(
      kOwn, perflib::RegistrationRequest::kCountersetEnglishName, 0);
  EXPECT_EQ(perflib::ReadString(own.value()).value(), "Own");
}

TEST_F(CombinedSourceTest, CombinesResultsOfBothInOneBlock) {
  EXPECT_THAT(Add({{.counterset = kOwn, .counter_id = 1},
                   {.counterset = kMachineDisks, .counter_id = 8},
                   {.counterset = kOwn, .counter_id = 2},
                   {.counterset = kMachineDisks, .counter_id = 9}}),
              ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(Values(), (std::map<uint32_t, uint64_t>{
                          {1, 7}, {2, 42}, {8, 108}, {9, 109}}));
  EXPECT_EQ(block_.clocks(), kMachinesClocks);
  EXPECT_THAT(block_.defects, IsEmpty());
  EXPECT_THAT(block_.warnings, IsEmpty());
  ticks_ = 8;
  EXPECT_EQ(Values().at(1), 8);
}

TEST_F(CombinedSourceTest, EachIdentifierGetsItsOwnStatus) {
  const perflib::Guid unknown{.data1 = 99};
  EXPECT_THAT(
      Add({{.counterset = unknown, .counter_id = 1},
           {.counterset = kOwn, .counter_id = 99},
           {.counterset = kOwn, .counter_id = 2}}),
      ElementsAre(perflib::kErrorGuidNotFound, perflib::kErrorItemIdNotFound,
                  perflib::kErrorSuccess));
}

TEST_F(CombinedSourceTest, ReadsOwnCountersWithoutTheMachine) {
  machine_.status = absl::UnavailableError("no PerfLib");
  EXPECT_THAT(Add({{.counterset = kOwn, .counter_id = 2}}), ElementsAre(0));
  EXPECT_EQ(Values(), (std::map<uint32_t, uint64_t>{{2, 42}}));
  std::vector<CounterIdentifier> disks = {
      {.counterset = kMachineDisks, .counter_id = 8}};
  EXPECT_THAT(handle_->AddCounters(&disks),
              StatusIs(absl::StatusCode::kUnavailable, "no PerfLib"));
}

// Nothing can be appended to a block that is shorter than its header says.
TEST_F(CombinedSourceTest, LeavesTruncatedBlocksUnchanged) {
  Add({{.counterset = kOwn, .counter_id = 2},
       {.counterset = kMachineDisks, .counter_id = 8}});
  Values();
  const size_t whole = bytes_.size();
  machine_.left_out = 8;
  EXPECT_THAT(Values(), IsEmpty());
  EXPECT_LT(bytes_.size(), whole);
  EXPECT_THAT(block_.defects, Not(IsEmpty()));
}

}  // namespace
}  // namespace fleetperf::agent
