#include "agent/source/linux/collection_costs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perflib/counter_type.h"
#include "perflib/layout.h"
#include "tests/agent/source/linux/linux_fixture.h"

namespace fleetperf::agent {
namespace {

using ::testing::IsEmpty;
using testing::Reading;

constexpr char kCollection[] = "fleetperf Collection";

class CollectionCostsTest : public testing::LinuxFixture {};

TEST_F(CollectionCostsTest, HasTheCountersetsThatWereCollected) {
  EXPECT_THAT(Sample(kCollection).names, IsEmpty());
  Write("proc/meminfo", "MemTotal: 1 kB\nMemFree: 1 kB\nBuffers: 1 kB\n");
  Write("proc/vmstat", "");
  Write("proc/swaps", "Filename Type Size Used Priority\n/s file 8 1 -1\n");
  Sample("Linux Memory");
  Sample("Linux Memory");
  Sample("Paging File");
  const Reading reading = Sample(kCollection);
  EXPECT_EQ(reading.Get("Linux Memory", "Collections/sec"), 2);
  EXPECT_EQ(reading.Get("Paging File", "Collections/sec"), 1);
  // It was collected itself, twice.
  EXPECT_EQ(Sample(kCollection).Get(kCollection, "Collections/sec"), 2);
}

// Takes 5 ms for two rows, of which one lacks a value.
class SlowProvider : public Provider {
 public:
  explicit SlowProvider(testing::SimulatedClock* clock)
      : Provider(MakeRegistration(
            "{00000001-0000-0000-0000-000000000000}", "Slow", "help",
            perflib::kCountersetMultipleInstances, kCounters)),
        clock_(*clock) {}

  absl::Status Sample(ColumnSet, const perflib::Clocks&,
                      CountersetSample* sample) override {
    clock_.Advance(absl::Milliseconds(5));
    sample->AddInstance("", 1);
    sample->Set(0, 7);
    sample->AddInstance("", 2);
    sample->Set(0, 7);
    sample->Set(1, 8);
    return status;
  }

  absl::Status status;

 private:
  static constexpr CounterSpec kCounters[] = {
      {5, perflib::kPerfCounterBulkCount, "Reads/sec", "help"},
      {9, perflib::kPerfCounterBulkCount, "Writes/sec", "help"},
  };
  testing::SimulatedClock& clock_;
};

TEST(ProviderCostsTest, CountsTimeNeededValuesAndErrors) {
  testing::SimulatedClock clock;
  auto slow = std::make_unique<SlowProvider>(&clock);
  SlowProvider& provider = *slow;
  const perflib::Guid guid = slow->registration().guid;
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::move(slow));
  const auto costs = std::make_shared<ProviderCosts>();
  const auto source = MakeProviderSource(std::move(providers), clock, costs);
  const auto query = [&](uint32_t counter_id) {
    const auto handle = source->OpenQueryHandle().value();
    std::vector<perflib::CounterIdentifier> identifiers = {
        {.counterset = guid, .counter_id = counter_id, .instance = "*"}};
    EXPECT_OK(handle->AddCounters(&identifiers));
    std::string block;
    EXPECT_OK(handle->QueryCounterData(&block));
  };
  query(perflib::kWildcardCounter);
  const ProviderCost& cost = costs->at("Slow");
  EXPECT_EQ(cost.collections, 1);
  EXPECT_EQ(cost.values, 3);
  EXPECT_EQ(cost.time, absl::Milliseconds(5));
  EXPECT_EQ(cost.errors, 0);
  query(9);
  EXPECT_EQ(cost.values, 4);
  provider.status = absl::NotFoundError("gone");
  query(9);
  EXPECT_EQ(cost.collections, 3);
  EXPECT_EQ(cost.values, 4);
  EXPECT_EQ(cost.time, absl::Milliseconds(15));
  EXPECT_EQ(cost.errors, 1);

  CollectionCosts collection(costs);
  CountersetSample sample;
  sample.Reset(collection.registration().counters.size());
  EXPECT_OK(collection.Sample(~ColumnSet{0}, {}, &sample));
  ASSERT_EQ(sample.rows(), 1);
  // In units of 100 ns.
  constexpr uint64_t kTime = 150'000;
  EXPECT_THAT(sample.Row(0),
              ::testing::ElementsAre(kTime, 3, kTime, 4, kTime, 1, 3, 4, 0));
}

}  // namespace
}  // namespace fleetperf::agent
