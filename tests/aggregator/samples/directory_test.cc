#include "aggregator/samples/directory.h"

#include "tests/support/countersets.h"
#include "tests/support/raw_samples.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kStart;
using ::testing::Pair;

std::shared_ptr<const Schema> MakeSchema(
    const std::string& hash, perflib::CountersetRegistration registration) {
  return std::make_shared<const Schema>(Schema{hash, std::move(registration)});
}

TEST(Directory, ListsMachinesByName) {
  Directory directory;
  EXPECT_THAT(directory.Machines(), IsEmpty());
  directory.AddMachine("web-2");
  directory.AddMachine("web-1");
  directory.AddMachine("web-2");
  EXPECT_THAT(directory.Machines(), ElementsAre("web-1", "web-2"));
  EXPECT_TRUE(directory.HasMachine("web-1"));
  EXPECT_FALSE(directory.HasMachine("WEB-1"));
  EXPECT_EQ(directory.NewestSample("web-1"), std::nullopt);
  EXPECT_EQ(directory.NewestSample("web-9"), std::nullopt);
  EXPECT_THAT(directory.Countersets("web-1"), IsEmpty());
  EXPECT_THAT(directory.Countersets("web-9"), IsEmpty());
}

TEST(Directory, FindsNamesRegardlessOfCase) {
  Directory directory;
  for (const char* const name : {"web-2", "Web-1", "WEB-2", "web-3"}) {
    directory.AddMachine(name);
  }
  EXPECT_THAT(directory.MachinesNamed({"web-2", "web-9", "web-1"}),
              ElementsAre("WEB-2", "Web-1", "web-2"));
  directory.HideMachine("WEB-2");
  EXPECT_THAT(directory.MachinesNamed({"web-2"}), ElementsAre("web-2"));
  EXPECT_THAT(directory.MachinesNamed({}), IsEmpty());
}

TEST(Directory, HasTheIntervalInForce) {
  CollectedQuery query{.machine = "web-1",
                       .schema = MakeSchema("0", testing::MemoryRegistration()),
                       .columns = {{.counter_id = 1, .value_size = 8}}};
  Directory directory;
  for (const int seconds : {10, 1, 10}) {
    query.interval = absl::Seconds(seconds);
    directory.AddQuery(query);
  }
  const CountersetList countersets = directory.Countersets("web-1");
  ASSERT_EQ(countersets.size(), 1);
  EXPECT_THAT(countersets.front()->counters,
              ElementsAre(Pair(1, absl::Seconds(10))));
}

TEST(Directory, HidesAMachineUntilItIsAddedAgain) {
  Directory directory;
  directory.AddMachine("web-1");
  directory.AddMachine("web-2");
  directory.HideMachine("web-1");
  directory.HideMachine("web-1");
  const auto memory = MakeSchema("0", testing::MemoryRegistration());
  directory.AddQuery(
      {.machine = "web-1", .schema = memory, .interval = absl::Seconds(1)});
  directory.SetNewestSample("web-1", kStart);
  EXPECT_EQ(directory.NewestSample("web-1"), std::nullopt);
  EXPECT_THAT(directory.Machines(), ElementsAre("web-2"));
  EXPECT_EQ(directory.size(), 1);
  EXPECT_EQ(directory.registered(), 1);
  EXPECT_FALSE(directory.HasMachine("web-1"));
  directory.AddMachine("web-1");
  EXPECT_EQ(directory.NewestSample("web-1"), kStart);
  EXPECT_THAT(directory.Machines(), ElementsAre("web-1", "web-2"));
  EXPECT_EQ(directory.size(), 2);
  EXPECT_EQ(directory.registered(), 2);
}

TEST(Directory, ListsCollectedCountersOfAMachine) {
  const auto disk = MakeSchema("1", testing::DiskRegistration());
  const auto memory = MakeSchema("0", testing::MemoryRegistration());
  Directory directory;
  directory.AddQuery({.machine = "web-1",
                      .schema = memory,
                      .interval = absl::Seconds(1),
                      .columns = {{testing::kAvailableBytes, 8}}});
  directory.AddQuery({.machine = "web-1",
                      .schema = disk,
                      .interval = absl::Seconds(1),
                      .columns = {{testing::kBytesPerRead, 8},
                                  {testing::kReads, 4, /*only_linked=*/true}}});
  // Another query adds a counter, and changes the interval of one.
  directory.AddQuery(
      {.machine = "web-1",
       .schema = disk,
       .interval = absl::Seconds(10),
       .columns = {{testing::kTransfers, 8}, {testing::kBytesPerRead, 8}}});
  EXPECT_THAT(directory.CountersetNames(), ElementsAre("Disk", "Memory"));
  const auto countersets = directory.Countersets("web-1");
  ASSERT_EQ(countersets.size(), 2);
  EXPECT_EQ(countersets[0]->schema, disk);  // by name
  EXPECT_EQ(countersets[1]->schema, memory);
  EXPECT_THAT(countersets[0]->counters,
              ElementsAre(Pair(testing::kTransfers, absl::Seconds(10)),
                          Pair(testing::kBytesPerRead, absl::Seconds(10))));
  EXPECT_THAT(directory.Machines(), ElementsAre("web-1"));
}

// A software update may change the registration. Both versions have samples.
TEST(Directory, KeepsEveryRegistrationOfACounterset) {
  Directory directory;
  for (const char* hash : {"a", "b", "a"}) {
    directory.AddQuery(
        {.machine = "web-1",
         .schema = MakeSchema(hash, testing::DiskRegistration())});
  }
  std::vector<std::string> hashes;
  for (const auto& counterset : directory.Countersets("web-1")) {
    hashes.push_back(counterset->schema->hash);
  }
  EXPECT_THAT(hashes, ElementsAre("a", "b"));
}

TEST(Directory, CollectingFollowsTheNewestTicks) {
  const auto memory = MakeSchema("0", testing::MemoryRegistration());
  Directory directory;
  CollectedQuery query{
      .machine = "web-1",
      .schema = memory,
      .interval = absl::Seconds(10),
      .columns = {{testing::kAvailableBytes, 8}, {testing::kPageFaults, 8}}};
  const auto both = directory.AddQuery(query);
  query.interval = absl::Seconds(1);
  query.columns.pop_back();
  const auto one = directory.AddQuery(query);
  EXPECT_EQ(directory.AddQuery(query), one);  // of another epoch
  const auto collecting = [&] {
    return directory.Collecting("web-1", *directory.Countersets("web-1")[0]);
  };
  EXPECT_EQ(collecting().size(), 2);  // no ticks yet
  both->Note(kStart);
  one->Note(kStart + absl::Seconds(25));  // 2.5 intervals
  EXPECT_EQ(collecting().size(), 2);
  one->Note(kStart + absl::Seconds(26));
  EXPECT_THAT(collecting(), ElementsAre(testing::kAvailableBytes));
  EXPECT_EQ(directory.NewestTick("web-1", *memory, testing::kPageFaults),
            kStart);
  EXPECT_EQ(directory.NewestTick("web-1", *memory, testing::kAvailableBytes),
            kStart + absl::Seconds(26));
}

TEST(Directory, NewestSampleMayGoBackwards) {
  Directory directory;
  directory.SetNewestSample("web-1", kStart);
  EXPECT_EQ(directory.NewestSample("web-1"), kStart);
  directory.SetNewestSample("web-1", kStart - absl::Hours(1));
  EXPECT_EQ(directory.NewestSample("web-1"), kStart - absl::Hours(1));
}

}  // namespace
}  // namespace fleetperf::aggregator
