#include "aggregator/query/resolver.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/query/machine_filter.h"
#include "aggregator/query/path_check.h"
#include "aggregator/samples/stored_machine.h"
#include "fleetperf/v1/fleet.pb.h"
#include "fleetperf/v1/query.pb.h"
#include "tests/support/countersets.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::StatusIs;

// web-1, web-2 and db-1 collect Disk, db-1 without one counter. web-1 also
// collects Memory.
class PathSetTest : public ::testing::Test {
 protected:
  PathSetTest() {
    for (const std::string machine : {"web-1", "web-2", "db-1"}) {
      CollectedQuery query{
          .machine = machine,
          .schema = disk_,
          .interval = absl::Seconds(1),
          .columns = {{testing::kTransfers, 8},
                      {testing::kBytesPerRead, 8},
                      {testing::kReads, 4, /*only_linked=*/true}}};
      if (machine == "db-1") query.columns.erase(query.columns.begin());
      directory_.AddMachine(machine);
      directory_.AddQuery(query);
    }
    directory_.AddQuery({.machine = "web-1",
                         .schema = memory_,
                         .interval = absl::Seconds(1),
                         .columns = {{testing::kAvailableBytes, 8},
                                     {testing::kPageFaults, 8}}});
  }

  static std::shared_ptr<const Schema> MakeSchema(
      perflib::CountersetRegistration registration) {
    return std::make_shared<const Schema>(
        Schema{registration.name + " hash", std::move(registration)});
  }

  // Returns the selected instances and counter ids: "web-1: Disk(C:#1) 1 3".
  std::vector<std::string> Select(const std::vector<std::string>& paths) {
    const auto set = PathSet::Parse(paths, directory_);
    if (!set.ok()) return {set.status().ToString()};
    const auto selected = set->Select(directory_);
    if (!selected.ok()) return {selected.status().ToString()};
    std::vector<std::string> texts;
    for (const auto& [machine, countersets] : *selected) {
      for (const SelectedCounterset& counterset : countersets) {
        for (const Selection& selection : counterset.selections) {
          texts.push_back(absl::StrCat(machine, ": ",
                                       counterset.schema->registration.name,
                                       ToText(selection)));
        }
      }
    }
    return texts;
  }

  static std::string ToText(const Selection& selection) {
    std::string text;
    if (selection.instance.has_value()) {
      absl::StrAppend(&text, "(", selection.instance->text());
      if (selection.instance_index.has_value()) {
        absl::StrAppend(&text, "#", *selection.instance_index);
      }
      absl::StrAppend(&text, ")");
    }
    for (const uint32_t id : selection.counter_ids) {
      absl::StrAppend(&text, " ", id);
    }
    return text;
  }

  const std::shared_ptr<const Schema> disk_ =
      MakeSchema(testing::DiskRegistration());
  const std::shared_ptr<const Schema> memory_ =
      MakeSchema(testing::MemoryRegistration());
  Directory directory_;
};

TEST_F(PathSetTest, SelectsMatchingCounters) {
  const struct {
    const char* path;
    std::vector<std::string> selected;
  } kCases[] = {
      {"\\\\web-1\\Memory\\Available Bytes", {"web-1: Memory 1"}},
      {"\\Memory\\Page Faults/sec", {"web-1: Memory 2"}},
      {"\\Memory\\*", {"web-1: Memory 1 2"}},
      {"\\\\web-*\\Disk(C:)\\Bytes per Read",
       {"web-1: Disk(C:) 3", "web-2: Disk(C:) 3"}},
      {"\\Disk(*)\\Bytes per Read",
       {"db-1: Disk(*) 3", "web-1: Disk(*) 3", "web-2: Disk(*) 3"}},
      // Counters that only serve others have no series, and neither have
      // uncollected counters.
      {"\\Disk(*)\\*",
       {"db-1: Disk(*) 3", "web-1: Disk(*) 1 3", "web-2: Disk(*) 1 3"}},
      {"\\\\web-?\\Disk(C:#1)\\Transfers/sec",
       {"web-1: Disk(C:#1) 1", "web-2: Disk(C:#1) 1"}},
      {"\\\\WEB-1\\memory\\AVAILABLE bytes", {"web-1: Memory 1"}},
      {"\\\\web-1\\{00000000-0000-4000-8000-00000000FEED}\\id:2",
       {"web-1: Memory 2"}},
      {"\\\\web-1\\M*\\id:1", {"web-1: Memory 1"}},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Select({test.path}), test.selected) << test.path;
  }
}

TEST_F(PathSetTest, GroupsPathsByCounterset) {
  EXPECT_THAT(Select({"\\\\web-1\\Disk(C:)\\Transfers/sec", "\\Memory\\*",
                      "\\\\web-1\\Disk(D:)\\*"}),
              ElementsAre("web-1: Disk(C:) 1", "web-1: Disk(D:) 1 3",
                          "web-1: Memory 1 2"));
}

TEST_F(PathSetTest, PrefersNamesInTheSameCase) {
  perflib::CountersetRegistration twins;
  twins.guid.data1 = 1;
  twins.name = "memory";
  twins.counters = {{.counter_id = 1, .name = "bytes"},
                    {.counter_id = 2, .name = "Bytes"}};
  directory_.AddQuery({.machine = "web-1",
                       .schema = MakeSchema(twins),
                       .columns = {{1, 8}, {2, 8}}});
  EXPECT_THAT(Select({"\\memory\\bytes"}), ElementsAre("web-1: memory 1"));
  EXPECT_THAT(Select({"\\memory\\Bytes"}), ElementsAre("web-1: memory 2"));
  EXPECT_THAT(Select({"\\memory\\BYTES"}), ElementsAre("web-1: memory 1 2"));
  EXPECT_THAT(Select({"\\Memory\\Page Faults/sec"}),
              ElementsAre("web-1: Memory 2"));
  // No name has the same case, so both match.
  EXPECT_THAT(Select({"\\MEMORY\\id:1"}),
              ElementsAre("web-1: Memory 1", "web-1: memory 1"));
  // A wildcard matches all.
  EXPECT_THAT(Select({"\\memory\\byte?"}), ElementsAre("web-1: memory 1 2"));
}

TEST_F(PathSetTest, AcceptsCountersetsWithParentheses) {
  perflib::CountersetRegistration odd;
  odd.name = "Queue (mail)";
  odd.counters = {{.counter_id = 1, .name = "Length"}};
  directory_.AddQuery(
      {.machine = "web-1", .schema = MakeSchema(odd), .columns = {{1, 8}}});
  EXPECT_THAT(Select({"\\Queue (mail)\\Length"}),
              ElementsAre("web-1: Queue (mail) 1"));
}

TEST_F(PathSetTest, ReportsThePositionOfAnError) {
  EXPECT_THAT(PathSet::Parse({}, directory_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a counter path is required")));
  EXPECT_THAT(PathSet::Parse({"\\Memory\\*", "Memory\\*"}, directory_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Memory\\*: at character 1 of the path")));
}

TEST_F(PathSetTest, ExplainsWhyAPathSelectsNothing) {
  const struct {
    const char* path;
    const char* message;
  } kCases[] = {
      {"\\\\web-3\\Memory\\*",
       "there is no machine \"web-3\"; did you mean \"web-1\" or \"web-2\"? "
       "See: fleetperf machines"},
      {"\\\\unlike\\Memory\\*",
       "there is no machine \"unlike\"; see: fleetperf machines"},
      {"\\Memroy\\*",
       "no counterset \"Memroy\" is collected; did you mean \"Memory\"? See: "
       "fleetperf countersets"},
      {"\\Thermal Zone\\*",
       "no counterset \"Thermal Zone\" is collected; see: fleetperf "
       "countersets"},
      {"\\{b4fc721a-0378-476f-89ba-a5a79f810b36}\\*",
       "no counterset \"{b4fc721a-0378-476f-89ba-a5a79f810b36}\" is "
       "collected"},
      // Another machine has the name; only matching machines count.
      {"\\\\db-1\\Memory\\*",
       "no counterset \"Memory\" is collected; see: fleetperf countersets"},
      {"\\Memory\\Availble Bytes",
       "no counter \"Availble Bytes\" is collected; did you mean \"Available "
       "Bytes\"? See: fleetperf counters 'Memory'"},
      // The command lists the counters of a name without wildcards.
      {"\\Mem*\\No Such Thing",
       "no counter \"No Such Thing\" is collected; see: fleetperf counters "
       "'Memory'"},
      {"\\Memory\\id:77",
       "no counter \"id:77\" is collected; see: fleetperf counters 'Memory'"},
      {"\\\\db-1\\Disk(*)\\Transfers/sec",
       "no counter \"Transfers/sec\" is collected; see: fleetperf counters "
       "'Disk'"},
      {"\\Disk(*)\\id:4", "no counter \"id:4\" is collected"},  // only linked
      {"\\Memory(*)\\Available Bytes",
       "counterset \"Memory\" has no instances; write '\\Memory\\Available "
       "Bytes'"},
      {"\\Disk\\Bytes per Read",
       "counterset \"Disk\" has instances; for all of them write "
       "'\\Disk(*)\\Bytes per Read'"},
  };
  for (const auto& test : kCases) {
    ASSERT_OK_AND_ASSIGN(const PathSet paths,
                         PathSet::Parse({test.path}, directory_));
    EXPECT_THAT(
        paths.Select(directory_),
        StatusIs(absl::StatusCode::kNotFound,
                 HasSubstr(absl::StrCat(test.path, ": ", test.message))));
  }
}

TEST_F(PathSetTest, ExplainsTheOnePathThatSelectsNothing) {
  ASSERT_OK_AND_ASSIGN(
      const PathSet paths,
      PathSet::Parse({"\\Memory\\*", "\\Memroy\\*"}, directory_));
  EXPECT_THAT(paths.Select(directory_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\\Memroy\\*")));
}

TEST_F(PathSetTest, ReportsThatNoSamplesExistYet) {
  const Directory empty;
  ASSERT_OK_AND_ASSIGN(const PathSet paths,
                       PathSet::Parse({"\\Memory\\*"}, empty));
  EXPECT_THAT(paths.Select(empty),
              StatusIs(absl::StatusCode::kNotFound,
                       "\\Memory\\*: no agent has sent any samples yet"));
}

TEST_F(PathSetTest, StopsWhenTheCallerIsGone) {
  ASSERT_OK_AND_ASSIGN(
      const PathSet paths,
      PathSet::Parse({"\\Memory\\*", "\\Nothing\\*"}, directory_));
  // Selecting asks for each path, and for each machine.
  for (int last = 0; last < 3; ++last) {
    int asked = 0;
    std::vector<absl::Status> missed;
    EXPECT_THAT(
        paths.Select(directory_, &missed, [&] { return asked++ == last; }),
        StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled")));
    EXPECT_EQ(asked, last + 1);
  }
}

// Returns the errors of the paths without samples.
class PathCheckTest : public PathSetTest {
 protected:
  std::vector<absl::Status> Missing(
      const std::vector<std::string>& texts,
      const std::function<void(PathCheck&)>& add) {
    auto paths = PathSet::Parse(texts, directory_);
    EXPECT_OK(paths);
    PathCheck check(*paths, {});
    add(check);
    return check.Missing(directory_);
  }

  void AddDisk(PathCheck& check, const std::string& machine,
               const std::string& instance, uint32_t counter_id) {
    check.AddSeries(machine, *disk_, counter_id, instance, 0);
  }
};

TEST_F(PathCheckTest, NamesTheMissingInstance) {
  const std::string path = "\\Disk(D:)\\*";
  const auto check = [&](const std::string& counterset,
                         const std::set<std::string>& names) {
    return Missing({path}, [&](PathCheck& paths) {
      InstanceNames of_machine;
      for (const std::string& name : names)
        of_machine[counterset][name] = false;
      paths.AddInstances("web-1", of_machine);
    });
  };
  EXPECT_THAT(check("Disk", {"C:"}),
              ElementsAre(StatusIs(
                  absl::StatusCode::kNotFound,
                  "\\Disk(D:)\\*: there was no instance \"D:\" in this "
                  "time; did you mean \"C:\"? See: fleetperf instances "
                  "'Disk'")));
  EXPECT_THAT(
      check("Disk", {"nvme0n1"}),
      ElementsAre(StatusIs(absl::StatusCode::kNotFound,
                           HasSubstr("see: fleetperf instances 'Disk'"))));
  // An instance of another counterset has the name.
  EXPECT_THAT(check("Network", {"D:"}),
              ElementsAre(StatusIs(absl::StatusCode::kOutOfRange,
                                   HasSubstr("no samples in this time"))));
}

TEST_F(PathCheckTest, ReportsEachPathWithoutSeries) {
  const std::vector<std::string> paths = {"\\Disk(C:)\\Transfers/sec",
                                          "\\\\web-2\\Disk(*)\\Transfers/sec",
                                          "\\Memory\\Available Bytes"};
  EXPECT_THAT(Missing(paths,
                      [&](PathCheck& check) {
                        AddDisk(check, "web-1", "c:", testing::kTransfers);
                        // Another counter, and another machine.
                        AddDisk(check, "web-2", "C:", testing::kBytesPerRead);
                        AddDisk(check, "db-1", "C:", testing::kTransfers);
                      }),
              ElementsAre(StatusIs(absl::StatusCode::kOutOfRange,
                                   HasSubstr("\\\\web-2\\Disk(*)")),
                          StatusIs(absl::StatusCode::kOutOfRange,
                                   HasSubstr("\\Memory\\Available"))));
}

TEST_F(PathCheckTest, AggregatesLeftOutAreNotMissing) {
  EXPECT_THAT(
      Missing({"\\Disk(*)\\Transfers/sec"},
              [&](PathCheck& check) {
                check.AddInstances("web-1", {{"Disk", {{"_Total", true}}}});
              }),
      IsEmpty());
}

TEST_F(PathCheckTest, SaysThatACounterIsNoLongerCollected) {
  const absl::Time end = absl::FromUnixSeconds(1'795'211'340);
  directory_.SetNewestSample("web-1", end + absl::Seconds(20));
  CollectedQuery memory{
      .machine = "web-1",
      .schema = memory_,
      .interval = absl::Seconds(1),
      .columns = {{testing::kAvailableBytes, 8}, {testing::kPageFaults, 8}}};
  directory_.AddQuery(memory)->Note(end);
  memory.columns.pop_back();
  const auto narrower = directory_.AddQuery(memory);
  narrower->Note(end + absl::Seconds(1));
  narrower->Note(end + absl::Seconds(20));
  EXPECT_THAT(
      Missing({"\\Memory\\Page Faults/sec", "\\Memory\\Available Bytes"},
              [](PathCheck&) {}),
      ElementsAre(
          StatusIs(absl::StatusCode::kOutOfRange,
                   HasSubstr("this is no longer collected; its newest sample "
                             "is of 2026-11-20T21:49:00Z")),
          StatusIs(absl::StatusCode::kOutOfRange,
                   HasSubstr("there are no samples in this time; the newest "
                             "sample is of 2026-11-20T21:49:20Z"))));
}

TEST_F(PathSetTest, SelectsMachinesByNameAndLabel) {
  for (const auto& [name, role] :
       {std::pair("web-1", "web"), {"web-2", "db"}}) {
    v1::Machine machine;
    machine.set_name(name);
    machine.set_agent(name);
    (*machine.mutable_labels())["role"] = role;
    directory_.AddMachine({machine});
  }
  // A machine has the labels of its agent.
  v1::Machine remote;
  remote.set_name("db-1");
  remote.set_agent("web-2");
  directory_.AddMachine({remote});
  const auto select = [&](const std::string& name,
                          const std::map<std::string, std::string>& labels) {
    v1::QueryRangeRequest request;
    request.set_machine(name);
    request.mutable_labels()->insert(labels.begin(), labels.end());
    auto paths = PathSet::Parse({"\\Disk(*)\\Bytes per Read"}, directory_);
    EXPECT_OK(paths);
    paths->LimitTo(MachineFilter::Of(request, directory_));
    const auto selected = paths->Select(directory_);
    std::vector<std::string> machines;
    if (!selected.ok()) machines.push_back(selected.status().ToString());
    if (selected.ok()) {
      for (const auto& [machine, countersets] : *selected) {
        machines.push_back(machine);
      }
    }
    return machines;
  };
  EXPECT_THAT(select("", {}), ElementsAre("db-1", "web-1", "web-2"));
  EXPECT_THAT(select("WEB-*", {}), ElementsAre("web-1", "web-2"));
  EXPECT_THAT(select("", {{"role", "d*"}}), ElementsAre("db-1", "web-2"));
  EXPECT_THAT(select("web-*", {{"role", "db"}}), ElementsAre("web-2"));
  EXPECT_THAT(select("web-*", {{"role", "db"}, {"site", "*"}}),
              ElementsAre(HasSubstr("there is no machine \"web-*\" with label "
                                    "role=db and site=*; see: fleetperf "
                                    "machines")));
}

// The call of subscriptions when a counterset of a machine appears.
TEST_F(PathSetTest, SelectsUncollectedCountersOfACounterset) {
  ASSERT_OK_AND_ASSIGN(
      const PathSet paths,
      PathSet::Parse({"\\\\web-*\\Disk(C:)\\*", "\\Memory\\Page*"},
                     directory_));
  EXPECT_TRUE(paths.MatchesMachine("web-9"));
  EXPECT_TRUE(paths.MatchesMachine("db-1"));  // by the second path
  const auto selected = paths.SelectFrom("web-9", disk_);
  ASSERT_TRUE(selected.has_value());
  ASSERT_EQ(selected->selections.size(), 1);
  EXPECT_EQ(ToText(selected->selections[0]), "(C:) 1 2 3 4 5 6 7 8");
  EXPECT_EQ(paths.SelectFrom("db-1", disk_), std::nullopt);
  EXPECT_TRUE(paths.SelectFrom("db-1", memory_).has_value());
}

TEST(Selection, MatchesInstancesByName) {
  EXPECT_TRUE(Selection{}.MatchesInstance(""));
  const Selection some{.instance = perflib::Pattern("sd?")};
  EXPECT_TRUE(some.MatchesInstance("sda"));
  EXPECT_TRUE(some.MatchesInstance("SDB"));
  EXPECT_FALSE(some.MatchesInstance("sda1"));
}

}  // namespace
}  // namespace fleetperf::aggregator
