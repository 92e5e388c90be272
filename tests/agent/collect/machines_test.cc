#include "agent/collect/machines.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/agent/collect/fake_source.h"
#include "tests/agent/collect/samples_text.h"
#include "tests/agent/collect/test_countersets.h"
#include "tests/agent/deliver/batch_content.h"
#include "tests/support/no_new_threads.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using testing::FakeSource;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kSystemGuid;
using ::testing::StartsWith;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;
using testing::Value32;

// The certificate names db1 and db2; db2 is unreachable.
class MachinesTest : public ::testing::Test {
 protected:
  MachinesTest() {
    delivery_.SetLive(true);
    machines_ = std::make_unique<Machines>(Machines::Options{
        .own = "web-1",
        .own_source = MakeSource(absl::OkStatus()),
        .open_remote = [this](const std::string& machine)
            -> absl::StatusOr<std::unique_ptr<Source>> {
          opened_.push_back(machine);
          return MakeSource(machine == "db2" ? absl::UnavailableError("away")
                                             : absl::OkStatus());
        },
        .check_name =
            [](const std::string& machine) {
              return machine == "db3"
                         ? absl::PermissionDeniedError("not my machine: db3")
                         : absl::OkStatus();
            },
        .delivery = &delivery_,
        .clock = &clock_});
  }

  static std::unique_ptr<Source> MakeSource(const absl::Status& enumerate) {
    auto source = std::make_unique<FakeSource>(testing::TestRegistrations());
    source->Change([&](auto& script) { script.enumerate = enumerate; });
    source->SetInstances(kSystemGuid, {{"", 0, {{1, Value32(1)}}}});
    return source;
  }

  // Returns the reports as "0 System: error".
  std::vector<std::string> Apply(const std::vector<PlannedQuery>& queries) {
    std::vector<std::string> texts;
    machines_->Apply({.queries = queries});
    for (const QueryReport& report : machines_->Reports()) {
      texts.push_back(absl::StrCat(report.query, " ", report.counterset, ": ",
                                   report.error));
    }
    return texts;
  }

  // Returns the contents of the spool, as "db1: System" for samples and "db1:
  // lost" for losses, after the ticks of the last applied plan.
  std::vector<std::string> Sent() {
    machines_->Stop();
    const v1::Definitions definitions =
        testing::AllDefinitions(delivery_.dictionary());
    std::map<uint32_t, std::string> names;
    for (const auto& machine : definitions.machines()) {
      names[machine.id()] = machine.name();
    }
    std::map<uint32_t, std::string> queries;
    for (const auto& query : definitions.queries()) {
      queries[query.id()] = names[query.machine()];
    }
    std::vector<std::string> sent;
    for (const auto& content : testing::ContentsOf(delivery_.spool())) {
      for (const auto& block : content.blocks()) {
        for (const auto& query : block.queries()) {
          sent.push_back(queries[query.query()]);
        }
      }
      for (const auto& loss : content.losses()) {
        sent.push_back(loss.machine() + " lost");
      }
    }
    return sent;
  }

  testing::SimulatedClock clock_;
  Delivery delivery_{{.epoch = 1, .clock = &clock_}};
  std::vector<std::string> opened_;
  std::unique_ptr<Machines> machines_;
};

TEST_F(MachinesTest, AQueryWithoutMachinesIsForTheAgentsMachine) {
  EXPECT_THAT(Apply({{.counterset = "System"}}), ElementsAre("0 System: "));
  EXPECT_THAT(opened_, IsEmpty());
  EXPECT_THAT(Sent(), ElementsAre("web-1"));
}

TEST_F(MachinesTest, AttributesSamplesToTheirMachine) {
  EXPECT_THAT(Apply({{.counterset = "System", .machines = {"WEB-1", "db1"}}}),
              ElementsAre("0 System: ", "0 System: "));
  EXPECT_THAT(opened_, ElementsAre("db1"));
  EXPECT_THAT(Sent(), UnorderedElementsAre("web-1", "db1"));
}

// Blocks of one handle are sent together, but not blocks of two machines.
TEST_F(MachinesTest, SendsBlocksOfTwoMachinesSeparately) {
  delivery_.SetLive(false);
  Apply({{.counterset = "System", .machines = {"web-1", "db1"}}});
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(absl::Seconds(1));
    Apply({{.counterset = "System", .machines = {"web-1", "db1"}}});
  }
  machines_->Stop();
  delivery_.Flush();
  std::set<uint32_t> queries;
  for (const auto& content : testing::ContentsOf(delivery_.spool())) {
    for (const auto& block : content.blocks()) {
      ASSERT_EQ(block.queries_size(), 1);
      queries.insert(block.queries(0).query());
    }
  }
  EXPECT_EQ(queries.size(), 2);
}

TEST_F(MachinesTest, AnUnreachableMachineDelaysNoOther) {
  EXPECT_THAT(Apply({{.counterset = "System", .machines = {"db2"}},
                     {.counterset = "System", .machines = {"db1"}}}),
              ElementsAre("0 : db2: away", "1 System: "));
  EXPECT_THAT(Sent(), UnorderedElementsAre("db1", "db2 lost"));
}

TEST_F(MachinesTest, RefusesMachinesMissingFromTheCertificate) {
  EXPECT_THAT(Apply({{.counterset = "System"},
                     {.counterset = "System", .machines = {"db3"}}}),
              UnorderedElementsAre("0 System: ", "1 : not my machine: db3"));
  EXPECT_THAT(Sent(), ElementsAre("web-1"));
}

TEST_F(MachinesTest, RefusesMachinesWithoutASpareThread) {
  const testing::NoNewThreads no_new_threads;
  EXPECT_THAT(Apply({{.counterset = "System"},
                     {.counterset = "System", .machines = {"db1"}}}),
              UnorderedElementsAre(
                  "0 System: ", StartsWith("1 : cannot start a thread; see ")));
  EXPECT_THAT(Sent(), ElementsAre("web-1"));
}

// Those of the former plan may name more queries than the new plan has.
TEST_F(MachinesTest, ReportsNothingOfAPlanThatComesAfterTheStop) {
  Apply({{.counterset = "System"}, {.counterset = "Memory"}});
  machines_->Stop();
  EXPECT_THAT(Apply({{.counterset = "System"}}), IsEmpty());
}

TEST_F(MachinesTest, ReleasesMachinesRemovedFromThePlan) {
  Apply({{.counterset = "System", .machines = {"db1"}}});
  Apply({{.counterset = "System"}});
  EXPECT_THAT(machines_->EnumerateInstances("db1", kSystemGuid),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("does not collect from db1")));
  Apply({{.counterset = "System", .machines = {"db1"}}});
  EXPECT_THAT(opened_, ElementsAre("db1", "db1"));
}

// Aggregators send names in lower case.
TEST_F(MachinesTest, FindsMachinesInEverySpelling) {
  Apply({{.counterset = "System", .machines = {"DB1"}}});
  EXPECT_THAT(machines_->EnumerateInstances("db1", kSystemGuid),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr("not expected")));  // by its source
}

TEST_F(MachinesTest, CollectsNothingAfterStop) {
  machines_->Stop();
  EXPECT_THAT(Apply({{.counterset = "System"}}), IsEmpty());
  EXPECT_THAT(Sent(), IsEmpty());
}

}  // namespace
}  // namespace fleetperf::agent
