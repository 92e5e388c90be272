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
#include "tests/support/status_matchers.h"
#include "tests/support/test_store.h"

namespace fleetperf::aggregator {
namespace {

using testing::DiskRegistration;
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
    ASSERT_OK(store_->PutMachine(machine, hash));
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
  EXPECT_THAT(countersets[0].machines, SizeIs(5));
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
  EXPECT_THAT(countersets[0].machines, SizeIs(7));
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

}  // namespace
}  // namespace fleetperf::aggregator
