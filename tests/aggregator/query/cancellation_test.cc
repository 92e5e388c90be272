// The work that a query does after its caller has cancelled it.

#include "aggregator/query/cancellation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator/query/aggregation.h"
#include "aggregator/query/fleet.h"
#include "aggregator/query/path_check.h"
#include "aggregator/query/range_query.h"
#include "aggregator/query/raw_query.h"
#include "base/sha256.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"
#include "proto/conversions.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/store_wrapper.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::At;
using testing::DiskAgent;
using testing::DiskRegistration;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestStore;

constexpr int kMachines = 30;
constexpr char kDisks[] = "\\Disk(*)\\Transfers/sec";

auto IsCancelledError() {
  return StatusIs(absl::StatusCode::kCancelled, ::testing::_);
}

// A store whose reader cancels at a frame or after the last one.
class CancelledStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  absl::Status Read(const ReadRequest& request,
                    absl::FunctionRef<absl::Status(const Frame&)> on_frame,
                    absl::FunctionRef<void(const Loss&)> on_loss) override {
    const absl::Status status = StoreWrapper::Read(
        request,
        [&](const Frame& frame) {
          frames_after += is_cancelled;
          is_cancelled = is_cancelled || cancels_at_frame;
          return on_frame(frame);
        },
        on_loss);
    is_cancelled = true;
    return status;
  }

  bool cancels_at_frame = false;
  bool is_cancelled = false;
  int frames_after = 0;
};

class CancelledQuery : public ::testing::Test {
 protected:
  QueryContext Context() {
    return {.store = store_,
            .now_of = [](const std::string&) { return At(60); },
            .is_cancelled = [this] { return store_.is_cancelled; }};
  }

  TestStore test_store_;
  CancelledStore store_{&*test_store_};
  RangeRequest request_{.paths = {kDisks}, .start = At(0), .end = At(60)};
};

TEST_F(CancelledQuery, ReadsFewMoreFramesWithoutTheInstance) {
  constexpr int kFrames = 60;
  DiskAgent agent(&test_store_);
  std::vector<std::pair<uint32_t, uint64_t>> disks;
  for (int i = 0; i < 100; ++i) {
    disks.emplace_back(agent.Disk(absl::StrCat("disk-", i)), 1);
  }
  for (int i = 0; i < kFrames; ++i) {
    agent.Ticks(i, i, disks);
    ASSERT_OK(agent.Send());
  }
  request_.paths = {"\\Disk(none)\\Transfers/sec"};
  store_.cancels_at_frame = true;
  EXPECT_THAT(
      RunRangeQuery(request_, Context(),
                    [](const SeriesResult&) { return absl::OkStatus(); }),
      IsCancelledError());
  EXPECT_THAT(store_.frames_after, Le(kFrames / 4));
  store_.is_cancelled = false;
  store_.frames_after = 0;
  EXPECT_THAT(RunRawQuery(request_, Context(),
                          [](const RawSeries&) { return absl::OkStatus(); }),
              IsCancelledError());
  EXPECT_THAT(store_.frames_after, Le(kFrames / 4));
}

TEST_F(CancelledQuery, AnswersNoSeriesOfTheMachineThatItHasRead) {
  DiskAgent agent(&test_store_);
  std::vector<std::pair<uint32_t, uint64_t>> disks;
  for (int i = 0; i < 1000; ++i) {
    disks.emplace_back(agent.Disk(absl::StrCat("disk-", i)), 1);
  }
  agent.Ticks(0, 2, disks);
  ASSERT_OK(agent.Send());
  size_t answered = 0;
  EXPECT_THAT(RunRangeQuery(request_, Context(),
                            [&](const SeriesResult&) {
                              ++answered;
                              return absl::OkStatus();
                            }),
              IsCancelledError());
  store_.is_cancelled = false;
  EXPECT_THAT(RunRawQuery(request_, Context(),
                          [&](const RawSeries&) {
                            ++answered;
                            return absl::OkStatus();
                          }),
              IsCancelledError());
  EXPECT_EQ(answered, 0);
}

// Counts the checks for cancellation, and cancels at one of them.
class Checks {
 public:
  explicit Checks(int cancelled_at) : cancelled_at_(cancelled_at) {}

  IsCancelled function() {
    return [this] { return ++count_ >= cancelled_at_; };
  }
  int count() const { return count_; }

 private:
  const int cancelled_at_;
  int count_ = 0;
};

TEST_F(CancelledQuery, CombinesFewMoreGroups) {
  GroupedSeries groups(
      Aggregation{.function = AggregateFunction::kSum, .by_instance = true});
  for (int i = 0; i < 1000; ++i) {
    SeriesResult result{.points = {{.time = At(1)}}};
    result.series.set_instance(absl::StrCat("disk-", i));
    groups.Add(FoundSeries(), {}, result, /*has_windows=*/true);
  }
  QueryContext context = Context();
  Checks third(3);
  context.is_cancelled = third.function();
  QueryMeter meter(context);
  EXPECT_THAT(groups.Take(&meter).status(), IsCancelledError());
  EXPECT_EQ(third.count(), 3);
}

TEST_F(CancelledQuery, AnswersFewMoreGroups) {
  constexpr int kGroups = 1000;
  DiskAgent agent(&test_store_);
  std::vector<std::pair<uint32_t, uint64_t>> disks;
  for (int i = 0; i < kGroups; ++i) {
    disks.emplace_back(agent.Disk(absl::StrCat("disk-", i)), 1);
  }
  agent.Ticks(0, 2, disks);
  ASSERT_OK(agent.Send());
  request_.aggregation = Aggregation{.by_instance = true};
  QueryContext context = Context();
  int answered = 0;
  context.is_cancelled = [&] { return answered > 0; };
  EXPECT_THAT(RunRangeQuery(request_, context,
                            [&](const SeriesResult&) {
                              ++answered;
                              return absl::OkStatus();
                            }),
              IsCancelledError());
  EXPECT_THAT(answered, Le(kGroups / 4));
}

// Counts the catalogues that are read.
class CataloguesStore : public testing::StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;

  absl::StatusOr<std::string> GetCatalogue(
      absl::string_view hash) const override {
    ++read;
    return StoreWrapper::GetCatalogue(hash);
  }

  mutable int read = 0;
};

class CancelledSearch : public ::testing::Test {
 protected:
  void SetUp() override {
    v1::CatalogueContent catalogue;
    *catalogue.add_countersets() = fleetperf::ToProto(DiskRegistration());
    const std::string content = catalogue.SerializeAsString();
    ASSERT_OK(store_->PutCatalogue(Sha256(content), content));
    for (int i = 0; i < kMachines; ++i) {
      v1::Machine machine;
      machine.set_name(absl::StrCat("web-", i));
      machine.set_agent(machine.name());
      ASSERT_OK(store_->PutMachine({machine, Sha256(content)}));
      DiskAgent agent(&store_, machine.name());
      agent.Ticks(0, 1, {{agent.Disk("C:"), 1}});
      ASSERT_OK(agent.Send());
    }
  }

  TestStore store_;
  Fleet fleet_{&*store_};
};

TEST_F(CancelledSearch, ExplainsNoMissingPath) {
  ASSERT_OK_AND_ASSIGN(const PathSet paths,
                       PathSet::Parse({kDisks}, store_->directory()));
  const PathCheck check(paths, {});
  Checks never(INT32_MAX);
  EXPECT_THAT(check.Missing(store_->directory(), never.function()), SizeIs(1));
  EXPECT_GE(never.count(), kMachines);
  Checks third(3);
  EXPECT_THAT(check.Missing(store_->directory(), third.function()), IsEmpty());
  EXPECT_THAT(third.count(), Le(4));
}

TEST_F(CancelledSearch, SuggestsNothing) {
  ASSERT_OK_AND_ASSIGN(
      const PathSet paths,
      PathSet::Parse({"\\Disk(*)\\Transfer/sec"}, store_->directory()));
  // At first, each machine is asked for the path.
  Checks later(kMachines + 5);
  std::vector<absl::Status> missed;
  EXPECT_THAT(
      paths.Select(store_->directory(), &missed, later.function()).status(),
      IsCancelledError());
  EXPECT_THAT(missed, IsEmpty());
  EXPECT_EQ(later.count(), kMachines + 5);
}

TEST_F(CancelledSearch, ParsesFewMoreCatalogues) {
  for (int i = 0; i < kMachines; ++i) {
    v1::CatalogueContent catalogue;
    catalogue.add_countersets()->set_name(absl::StrCat("of machine ", i));
    const std::string content = catalogue.SerializeAsString();
    ASSERT_OK(store_->PutCatalogue(Sha256(content), content));
    v1::Machine machine;
    machine.set_name(absl::StrCat("web-", i));
    ASSERT_OK(store_->PutMachine({machine, Sha256(content)}));
  }
  CataloguesStore counting(&*store_);
  const IsCancelled after_two = [&] { return counting.read >= 2; };
  Fleet(&counting).Countersets([](const std::string&) { return true; },
                               after_two);
  EXPECT_EQ(counting.read, 2);
  counting.read = 0;
  Fleet(&counting).CountersetNames(after_two);
  EXPECT_EQ(counting.read, 2);
  counting.read = 0;
  Fleet(&counting).MachinesWith(
      DiskRegistration().guid, [](const std::string&) { return true; },
      after_two);
  EXPECT_EQ(counting.read, 2);
}

TEST_F(CancelledSearch, EndsInTheListOfMachines) {
  const auto all = [](const std::string&) { return true; };
  ASSERT_OK_AND_ASSIGN(const PathSet paths,
                       PathSet::Parse({kDisks}, store_->directory()));
  EXPECT_THAT(fleet_.Select(paths, Checks(INT32_MAX).function()),
              SizeIs(kMachines));
  EXPECT_THAT(fleet_.Select(paths, Checks(3).function()), SizeIs(2));
  Checks third(3);
  fleet_.Countersets(all, third.function());
  EXPECT_EQ(third.count(), 3);
  EXPECT_THAT(fleet_.FindCounterset("Disk", {}, Checks(3).function()),
              IsCancelledError());
}

}  // namespace
}  // namespace fleetperf::aggregator
