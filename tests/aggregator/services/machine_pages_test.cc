#include "aggregator/services/machine_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

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

}  // namespace
}  // namespace fleetperf::aggregator
