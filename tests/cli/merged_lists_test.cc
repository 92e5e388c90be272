// Lists of several aggregators.

#include "cli/merged_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace fleetperf::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

v1::Machine Machine(const std::string& name, bool connected, int64_t newest) {
  v1::Machine machine;
  machine.set_name(name);
  machine.set_agent(name);
  machine.set_connected(connected);
  if (newest > 0) machine.mutable_newest_sample()->set_seconds(newest);
  if (connected) machine.set_address("192.0.2.1:5000");
  return machine;
}

v1::ListMachinesResponse List(const std::vector<v1::Machine>& machines) {
  v1::ListMachinesResponse list;
  for (const v1::Machine& machine : machines) *list.add_machines() = machine;
  return list;
}

std::vector<std::string> NamesOf(
    const google::protobuf::RepeatedPtrField<v1::Machine>& machines) {
  std::vector<std::string> names;
  for (const v1::Machine& machine : machines) names.push_back(machine.name());
  return names;
}

TEST(MergeMachines, ListsEachMachineOnceByName) {
  EXPECT_THAT(
      NamesOf(MergeMachines(
          {List({Machine("b", true, 9), Machine("d", true, 9)}),
           List({Machine("a", true, 9), Machine("b", false, 5)}), List({})})),
      ElementsAre("a", "b", "d"));
  EXPECT_THAT(MergeMachines({}), IsEmpty());
}

TEST(MergeMachines, DescribesByTheConnectedOneThenByTheNewestSample) {
  v1::Machine left = Machine("web-1", false, 100);
  left.set_agent_version("1");
  v1::Machine connected = Machine("web-1", true, 50);
  connected.set_agent_version("2");
  EXPECT_EQ(MergeMachines({List({left}), List({connected})})[0].agent_version(),
            "2");
  EXPECT_EQ(MergeMachines({List({connected}), List({left})})[0].agent_version(),
            "2");
  v1::Machine older = Machine("web-1", false, 99);
  older.set_agent_version("3");
  EXPECT_EQ(MergeMachines({List({older}), List({left})})[0].agent_version(),
            "1");
}

TEST(MergeMachines, HasTheNewestSampleOfAll) {
  // The agent has just moved, and has sent nothing since.
  const auto merged = MergeMachines({List({Machine("web-1", false, 100)}),
                                     List({Machine("web-1", true, 50)})});
  EXPECT_TRUE(merged[0].connected());
  EXPECT_EQ(merged[0].newest_sample().seconds(), 100);
  // A foreign sample does not make a description newer.
  v1::Machine second = Machine("web-1", true, 60);
  second.set_agent_version("2");
  const auto clones =
      MergeMachines({List({Machine("web-1", true, 50)}),
                     List({Machine("web-1", false, 100)}), List({second})});
  EXPECT_EQ(clones[0].agent_version(), "2");
}

TEST(MergeMachines, AddsLostTicksAndKeepsExpectations) {
  v1::Machine first = Machine("web-1", false, 100);
  (*first.mutable_lost_ticks())["overrun"] = 3;
  (*first.mutable_lost_ticks())["spool_full"] = 1;
  v1::Machine second = Machine("web-1", true, 200);
  (*second.mutable_lost_ticks())["overrun"] = 4;
  v1::Machine expected;
  expected.set_name("web-1");
  expected.set_expected(true);
  const auto merged =
      MergeMachines({List({first}), List({second}), List({expected})});
  EXPECT_THAT(merged[0].lost_ticks(),
              UnorderedElementsAre(Pair("overrun", 7), Pair("spool_full", 1)));
  EXPECT_TRUE(merged[0].expected());
  EXPECT_TRUE(merged[0].connected());
}

TEST(MergeMachines, NamesTheOtherAddressOfAClone) {
  const v1::Machine first = Machine("web-1", true, 100);
  v1::Machine second = Machine("web-1", true, 90);
  second.set_address("192.0.2.2:5000");
  const auto clones = MergeMachines({List({first}), List({second})});
  EXPECT_EQ(clones[0].address(), "192.0.2.1:5000");
  EXPECT_EQ(clones[0].conflicting_address(), "192.0.2.2:5000");
  // An agent that has just moved may still be connected to both.
  second.set_address("192.0.2.1:5001");
  EXPECT_EQ(
      MergeMachines({List({first}), List({second})})[0].conflicting_address(),
      "");
  second.set_address("192.0.2.2:5000");
  second.set_connected(false);
  EXPECT_EQ(
      MergeMachines({List({first}), List({second})})[0].conflicting_address(),
      "");
}

v1::ListCountersetsResponse Countersets(const std::string& name,
                                        uint32_t machines,
                                        uint32_t collecting) {
  v1::ListCountersetsResponse list;
  v1::Counterset* counterset = list.add_countersets();
  counterset->set_name(name);
  counterset->set_machines(machines);
  counterset->set_collecting_machines(collecting);
  return list;
}

TEST(MergeCountersets, AddsTheMachinesThatCollect) {
  const auto merged = MergeCountersets({Countersets("System", 10, 6),
                                        Countersets("Memory", 3, 3),
                                        Countersets("System", 7, 5)});
  ASSERT_EQ(merged.size(), 2);
  EXPECT_EQ(merged[0].name(), "Memory");
  EXPECT_EQ(merged[1].collecting_machines(), 11);
  EXPECT_EQ(merged[1].machines(), 11);
  // Most of the ten are at both.
  EXPECT_EQ(MergeCountersets(
                {Countersets("System", 10, 1), Countersets("System", 9, 8)})[0]
                .machines(),
            10);
}

TEST(MergeCounters, CollectedByOneIsEnough) {
  v1::ListCountersResponse few;
  few.add_counters()->set_id(2);
  few.mutable_counters(0)->set_collected(true);
  v1::ListCountersResponse many;
  for (const uint32_t id : {1, 2, 3}) many.add_counters()->set_id(id);
  std::vector<std::string> merged;
  for (const v1::Counter& counter : MergeCounters({few, many})) {
    merged.push_back(absl::StrCat(counter.id(), " ", counter.collected()));
  }
  EXPECT_THAT(merged, ElementsAre("2 1", "1 0", "3 0"));
}

void AddInstance(const std::string& machine, const std::string& name,
                 v1::ListInstancesResponse* list) {
  auto* instance = list->add_instances();
  instance->set_machine(machine);
  instance->set_name(name);
}

TEST(MergeInstances, TakesThoseThatTheAgentHasAnswered) {
  std::vector<v1::ListInstancesResponse> lists(2);
  AddInstance("b", "stale", &lists[0]);
  AddInstance("c", "only", &lists[0]);
  lists[0].add_unanswered("b");
  AddInstance("a", "eth1", &lists[1]);
  AddInstance("a", "eth0", &lists[1]);
  AddInstance("b", "live", &lists[1]);
  AddInstance("d", "first", &lists[0]);
  AddInstance("d", "second", &lists[1]);
  lists[0].add_unanswered("d");
  lists[1].add_unanswered("d");
  const v1::ListInstancesResponse merged = MergeInstances(lists);
  std::vector<std::string> names;
  for (const auto& instance : merged.instances()) {
    names.push_back(absl::StrCat(instance.machine(), " ", instance.name()));
  }
  EXPECT_THAT(names,
              ElementsAre("a eth1", "a eth0", "b live", "c only", "d first"));
  EXPECT_THAT(merged.unanswered(), ElementsAre("d"));
}

v1::FindResponse Found(const std::vector<std::string>& paths,
                       const std::string& corrected = "") {
  v1::FindResponse list;
  for (const std::string& path : paths) list.add_found()->set_path(path);
  list.set_corrected_words(corrected);
  return list;
}

std::vector<std::string> PathsOf(const v1::FindResponse& list) {
  std::vector<std::string> paths;
  for (const auto& found : list.found()) paths.push_back(found.path());
  return paths;
}

TEST(MergeFound, TakesTheBestOfEachInTurn) {
  v1::FindResponse first = Found({"a", "b", "c"});
  first.set_left_out(5);
  v1::FindResponse second = Found({"a", "x"});
  second.mutable_found(0)->set_collected(true);
  const v1::FindResponse merged = MergeFound({first, second}, 3);
  EXPECT_THAT(PathsOf(merged), ElementsAre("a", "b", "x"));
  EXPECT_TRUE(merged.found(0).collected());
  EXPECT_EQ(merged.left_out(), 6);
}

TEST(MergeFound, CorrectsWordsOnlyIfNobodyHasThem) {
  EXPECT_THAT(PathsOf(MergeFound({Found({"a"}, "cpu"), Found({"b"})}, 9)),
              ElementsAre("b"));
  const v1::FindResponse corrected =
      MergeFound({Found({"a"}, "cpu"), Found({})}, 9);
  EXPECT_THAT(PathsOf(corrected), ElementsAre("a"));
  EXPECT_EQ(corrected.corrected_words(), "cpu");
}

}  // namespace
}  // namespace fleetperf::cli
