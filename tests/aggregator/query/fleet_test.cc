// The countersets that the machines of a fleet offer.

#include "aggregator/query/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "fleetperf/v1/collection.pb.h"
#include "fleetperf/v1/fleet.pb.h"
#include "proto/conversions.h"
#include "tests/support/countersets.h"
#include "tests/support/disk_agent.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskRegistration;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TestStore;

class FleetTest : public ::testing::Test {
 protected:
  // Adds a machine with this counterset in its catalogue.
  void AddMachine(const std::string& name,
                  const perflib::CountersetRegistration& registration,
                  const std::string& agent = "") {
    v1::CatalogueContent catalogue;
    *catalogue.add_countersets() = fleetperf::ToProto(registration);
    const std::string content = catalogue.SerializeAsString();
    const std::string hash = Sha256(content);
    ASSERT_OK(store_->PutCatalogue(hash, content));
    v1::Machine machine;
    machine.set_name(name);
    machine.set_agent(agent.empty() ? name : agent);
    ASSERT_OK(store_->PutMachine({machine, hash}));
  }

  TestStore store_;
  Fleet fleet_{&*store_};
};

TEST_F(FleetTest, OneMachineDoesNotRenameTheCountersetOfTheOthers) {
  perflib::CountersetRegistration other = DiskRegistration();
  other.name = "Harmless";
  AddMachine("web-0", other);
  AddMachine("web-1", DiskRegistration());
  AddMachine("web-2", DiskRegistration());
  AddMachine("web-3", other);
  AddMachine("web-4", DiskRegistration());
  const auto countersets =
      fleet_.Countersets([](const std::string&) { return true; });
  ASSERT_THAT(countersets, SizeIs(1));
  EXPECT_EQ(countersets[0].registration.name, DiskRegistration().name);
  EXPECT_EQ(countersets[0].machines, 5);
  ASSERT_OK_AND_ASSIGN(const FleetCounterset by_guid,
                       fleet_.FindCounterset(other.guid.ToString()));
  EXPECT_EQ(by_guid.registration.name, DiskRegistration().name);
  EXPECT_THAT(fleet_.FindCounterset("Harmless"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("there is no counterset \"Harmless\"")));
}

TEST_F(FleetTest, AnAgentHasOneVoteForAllItsMachines) {
  perflib::CountersetRegistration other = DiskRegistration();
  other.name = "Harmless";
  for (int i = 0; i < 5; ++i) {
    AddMachine(absl::StrCat("a-", i), other, "evil");
  }
  AddMachine("web-1", DiskRegistration());
  AddMachine("web-2", DiskRegistration());
  const auto countersets =
      fleet_.Countersets([](const std::string&) { return true; });
  ASSERT_THAT(countersets, SizeIs(1));
  EXPECT_EQ(countersets[0].registration.name, DiskRegistration().name);
  EXPECT_EQ(countersets[0].agents, 3);
  EXPECT_EQ(countersets[0].machines, 7);
}

TEST_F(FleetTest, ANameMeansTheCountersetOfTheMostAgents) {
  AddMachine("web-1", DiskRegistration());
  AddMachine("web-2", DiskRegistration());
  for (uint8_t i = 0; i < 5; ++i) {
    perflib::CountersetRegistration variant = DiskRegistration();
    std::string guid = variant.guid.Bytes();
    guid[0] = static_cast<char>(i * 50);
    variant.guid = *perflib::GuidFromBytes(guid);
    AddMachine(absl::StrCat("a-", i), variant, "evil");
  }
  ASSERT_OK_AND_ASSIGN(const FleetCounterset found,
                       fleet_.FindCounterset(DiskRegistration().name));
  EXPECT_EQ(found.registration.guid, DiskRegistration().guid);
}

TEST_F(FleetTest, CountsMachinesWithoutACatalogue) {
  AddMachine("web-1", DiskRegistration());
  AddMachine("web-2", DiskRegistration());
  for (const std::string machine : {"web-2", "web-3"}) {
    testing::DiskAgent agent(&store_, machine);
    agent.Ticks(0, 1, {{agent.Disk("C:"), 1}});
    ASSERT_OK(agent.Send());
  }
  ASSERT_OK_AND_ASSIGN(const FleetCounterset disk,
                       fleet_.FindCounterset("Disk"));
  EXPECT_EQ(disk.machines, 3);
  EXPECT_EQ(disk.agents, 3);
  EXPECT_EQ(disk.collecting_machines, 2);
  EXPECT_THAT(disk.collected_counters,
              ElementsAre(testing::kTransfers, testing::kQueueLength));
  const auto guid = DiskRegistration().guid;
  EXPECT_THAT(
      fleet_.MachinesWith(guid, [](const std::string&) { return true; }),
      ElementsAre("web-1", "web-2", "web-3"));
  EXPECT_THAT(fleet_.MachinesWith(
                  guid, [](const std::string& name) { return name > "web-1"; }),
              ElementsAre("web-2", "web-3"));
}

}  // namespace
}  // namespace fleetperf::aggregator
