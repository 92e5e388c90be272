#include "aggregator/services/machine_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

v1::ListMachinesResponse PageOf(const std::vector<std::string>& names,
                                const std::string& next) {
  v1::ListMachinesResponse page;
  for (const std::string& name : names) page.add_machines()->set_name(name);
  page.set_next_page_token(next);
  return page;
}

absl::Status Check(const std::string& token, v1::ListMachinesResponse page) {
  return CheckPage(token, &page);
}

TEST(MachinePages, APeersListAdvances) {
  EXPECT_OK(Check("", PageOf({}, "")));
  EXPECT_OK(Check("", PageOf({"a", "b"}, "b")));
  EXPECT_OK(Check("b", PageOf({"c"}, "d")));
  for (const auto& [token, page] :
       std::vector<std::pair<std::string, v1::ListMachinesResponse>>{
           {"b", PageOf({}, "b")},
           {"b", PageOf({}, "a")},
           {"b", PageOf({"b"}, "")},
           {"", PageOf({"b", "a"}, "")},
           {"", PageOf({"a", "a"}, "")},
           {"", PageOf({"a", "c"}, "b")},
           {"", PageOf({std::string(1 << 20, 'x')}, "")}}) {
    EXPECT_FALSE(Check(token, page).ok()) << page.DebugString();
  }
}

TEST(MachinePages, APeersTextsAreBounded) {
  v1::ListMachinesResponse page = PageOf({"a"}, "");
  v1::Machine* const machine = page.mutable_machines(0);
  machine->set_agent_version(std::string(1 << 20, 'x'));
  machine->set_address(std::string(1 << 20, 'x'));
  (*machine->mutable_labels())["role"] = "web";
  (*machine->mutable_labels())["x"] = std::string(1 << 20, 'x');
  EXPECT_OK(CheckPage("", &page));
  EXPECT_LT(page.ByteSizeLong(), 1000);
  EXPECT_EQ(machine->labels().at("role"), "web");
  for (int i = 0; i < 1000; ++i) {
    (*machine->mutable_lost_ticks())[std::to_string(i)] = 1;
  }
  EXPECT_THAT(CheckPage("", &page), StatusIs(absl::StatusCode::kDataLoss,
                                             HasSubstr("too many numbers")));
}

v1::ListOwnMachinesResponse Answer(const std::string& store,
                                   v1::ListMachinesResponse page) {
  v1::ListOwnMachinesResponse answer;
  answer.set_store_id(store);
  *answer.mutable_page() = std::move(page);
  return answer;
}

std::vector<std::string> NamesIn(const v1::ListMachinesResponse& page) {
  std::vector<std::string> names;
  for (const v1::Machine& machine : page.machines()) {
    names.push_back(machine.name());
  }
  return names;
}

TEST(MachinePages, MergedPagesSkipNoMachine) {
  // The first list may go on with "d", so "e" must wait.
  const auto merged =
      MergePages({Answer("1", PageOf({"a", "c"}, "c")),
                  Answer("2", PageOf({"b", "e"}, "")),
                  Answer("1", PageOf({"x"}, ""))},  // of the same store
                 /*page_size=*/10);
  EXPECT_THAT(NamesIn(merged), ElementsAre("a", "b", "c"));
  EXPECT_EQ(merged.next_page_token(), "c");
  // A full page ends before that.
  const auto full = MergePages(
      {Answer("1", PageOf({"a", "c"}, "c")), Answer("2", PageOf({"b"}, ""))},
      /*page_size=*/2);
  EXPECT_THAT(NamesIn(full), ElementsAre("a", "b"));
  EXPECT_EQ(full.next_page_token(), "b");
  const auto last =
      MergePages({Answer("1", PageOf({"a"}, "")), Answer("2", PageOf({}, ""))},
                 /*page_size=*/2);
  EXPECT_THAT(NamesIn(last), ElementsAre("a"));
  EXPECT_EQ(last.next_page_token(), "");
}

TEST(MachinePages, AMachineIsDescribedWhereItIsConnected) {
  v1::ListMachinesResponse connected = PageOf({"a"}, "");
  connected.mutable_machines(0)->set_connected(true);
  connected.mutable_machines(0)->set_address("new:1");
  connected.mutable_machines(0)->mutable_newest_sample()->set_seconds(5);
  (*connected.mutable_machines(0)->mutable_lost_ticks())["late"] = 1;
  v1::ListMachinesResponse former = PageOf({"a"}, "");
  former.mutable_machines(0)->set_address("old:1");
  former.mutable_machines(0)->mutable_newest_sample()->set_seconds(9);
  (*former.mutable_machines(0)->mutable_lost_ticks())["late"] = 2;
  for (const bool is_first : {true, false}) {
    std::vector<v1::ListOwnMachinesResponse> answers = {
        Answer("1", is_first ? connected : former),
        Answer("2", is_first ? former : connected)};
    const auto merged = MergePages(std::move(answers), 10);
    ASSERT_EQ(merged.machines_size(), 1);
    EXPECT_EQ(merged.machines(0).address(), "new:1");
    EXPECT_EQ(merged.machines(0).lost_ticks().at("late"), 3);
  }
}

}  // namespace
}  // namespace fleetperf::aggregator
