// Sources whose calls run on threads, while the system starts none.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "agent/source/deadline_source.h"
#include "agent/source/windows/v1/performance_data.h"
#include "tests/agent/source/windows/v1_source_fixture.h"
#include "tests/support/no_new_threads.h"

namespace fleetperf::agent {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NoNewThreads;
using ::testing::Not;
using testing::StatusIs;

constexpr absl::Duration kLong = absl::Minutes(1);

auto StartsNoThread() {
  return StatusIs(absl::StatusCode::kUnavailable,
                  HasSubstr("cannot start a thread"));
}

class AnsweringSource : public Source {
 public:
  absl::StatusOr<std::vector<perflib::Guid>> EnumerateCounterSet() override {
    return std::vector<perflib::Guid>{perflib::Guid{.data1 = 7}};
  }
  absl::StatusOr<std::string> QueryCounterSetRegistrationInfo(
      const perflib::Guid&, perflib::RegistrationRequest, uint32_t) override {
    return "registration";
  }
  absl::StatusOr<std::string> EnumerateCounterSetInstances(
      const perflib::Guid&) override {
    return "instances";
  }
  absl::StatusOr<std::unique_ptr<QueryHandle>> OpenQueryHandle() override {
    return std::make_unique<Handle>();
  }

 private:
  class Handle : public QueryHandle {
   public:
    absl::Status AddCounters(
        std::vector<perflib::CounterIdentifier>*) override {
      return absl::OkStatus();
    }
    absl::Status DeleteCounters(
        std::vector<perflib::CounterIdentifier>*) override {
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> QueryCounterInfo() override { return ""; }
    absl::Status QueryCounterData(std::string* block) override {
      *block = "block";
      return absl::OkStatus();
    }
  };
};

TEST(ThreadLimitTest, FailsCallsOfADeadlineSourceUntilAThreadStarts) {
  std::unique_ptr<Source> source;
  {
    const NoNewThreads no_new_threads;
    source =
        MakeDeadlineSource(std::make_unique<AnsweringSource>(), "db1", kLong);
    EXPECT_THAT(source->EnumerateCounterSet(), StartsNoThread());
    EXPECT_THAT(source->EnumerateCounterSetInstances({}), StartsNoThread());
    EXPECT_THAT(source->OpenQueryHandle(), StartsNoThread());
  }
  EXPECT_OK(source->EnumerateCounterSet());
  EXPECT_OK(source->EnumerateCounterSetInstances({}));
  ASSERT_OK_AND_ASSIGN(const auto handle, source->OpenQueryHandle());
  // The handle has its thread.
  const NoNewThreads no_new_threads;
  std::string block;
  EXPECT_OK(handle->QueryCounterData(&block));
  EXPECT_EQ(block, "block");
}

class ThreadLimitV1Test : public V1SourceTest {};

TEST_F(ThreadLimitV1Test, FailsReads) {
  PlayObjects({Memory()});
  const auto data = MakeDeadlineData(
      [] {
        return MakeRegistryPerformanceData(testing::ScriptedRegistryFunctions(),
                                           "");
      },
      kLong, std::make_shared<std::atomic<int>>(0), &Clock());
  std::string bytes;
  {
    const NoNewThreads no_new_threads;
    EXPECT_THAT(data->Query("4", &bytes), StartsNoThread());
  }
  EXPECT_OK(data->Query("4", &bytes));
  EXPECT_THAT(bytes, Not(IsEmpty()));
}

TEST_F(ThreadLimitV1Test, FailsTheFirstListAndKeepsTheLast) {
  PlayObjects({Memory()});
  const auto source = Open();
  {
    const NoNewThreads no_new_threads;
    EXPECT_THAT(source->EnumerateCounterSet(), StartsNoThread());
  }
  EXPECT_THAT(Names(*source), Contains("Memory"));
  Clock().Advance(absl::Minutes(10));  // another list is due
  PlayObjects({Memory(), Process()});
  {
    const NoNewThreads no_new_threads;
    EXPECT_THAT(Names(*source), Contains("Memory"));
  }
  EXPECT_OK(source->EnumerateCounterSet());
  EXPECT_TRUE(source->AwaitList(absl::InfiniteDuration()));
  EXPECT_THAT(Names(*source), Contains("Process"));
}

}  // namespace
}  // namespace fleetperf::agent
