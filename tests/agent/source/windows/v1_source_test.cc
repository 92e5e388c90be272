// Lists, queries and changes of PerfLib V1. On Windows and under Wine, a DLL
// exports the functions of the scripted registry.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/source/united_source.h"
#include "agent/source/windows/perflib_source.h"
#include "perflib/block_reader.h"
#include "perflib/counter_type.h"
#include "perflib/registration.h"
#include "perflib/v1/counterset.h"
#include "tests/agent/source/windows/v1_source_fixture.h"
#include "tests/scripted_perflib/exports.h"
#include "tests/scripted_perflib/scripted_registry.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::agent {
namespace {

using nlohmann::json;
using perflib::CounterIdentifier;
using perflib::Guid;
using perflib::HeaderType;
using perflib::RegistrationRequest;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ScriptedRegistry;
using ::testing::SizeIs;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

TEST_F(V1SourceTest, ListsObjectsWithRegistrations) {
  PlayObjects({Memory(), Process()});
  const auto source = Open();
  EXPECT_THAT(Names(*source),
              UnorderedElementsAre("Memory", "Process", "Process V2"));
  EXPECT_THAT(source->Problems(), IsEmpty());
  const auto info = perflib::ReadCountersetStruct(
      source
          ->QueryCounterSetRegistrationInfo(
              kProcessGuid, RegistrationRequest::kCountersetStruct, 0)
          .value());
  ASSERT_OK(info);
  EXPECT_TRUE(info->HasInstances());
  EXPECT_THAT(info->counters, SizeIs(2));
  EXPECT_THAT(source->QueryCounterSetRegistrationInfo(
                  Guid(), RegistrationRequest::kCountersetStruct, 0),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("4200")));
}

TEST_F(V1SourceTest, AnswersQueriesInBlocks) {
  PlayObjects({Memory(), Process()});
  const auto source = Open();
  Names(*source);
  const auto handle = Handle(
      *source, {{.counterset = kMemoryGuid},
                {.counterset = kProcessGuid, .instance = "*"},
                {.counterset = kProcessGuid, .counter_id = 1, .instance = "*"},
                {.counterset = kProcessGuid, .instance = "_Total"}});
  Read(*handle);
  ASSERT_THAT(block_.results, SizeIs(4));
  EXPECT_EQ(block_.results[0].type, HeaderType::kMultipleCounters);
  EXPECT_EQ(Text(0), "4096");
  EXPECT_EQ(block_.results[1].type, HeaderType::kCounterset);
  EXPECT_EQ(Text(1), "cmd:100=11,100 cmd:200=22,200 _Total:0=33,0");
  EXPECT_EQ(block_.results[2].type, HeaderType::kMultipleInstances);
  EXPECT_EQ(Text(2), "cmd:100=100 cmd:200=200 _Total:0=0");
  EXPECT_EQ(Text(3), "_Total:0=33,0");
  EXPECT_EQ(block_.header.perf_freq, 10'000'000);
  EXPECT_GT(block_.header.perf_time_100nsec, 0);
  // Only the objects of the queries are read.
  EXPECT_EQ(ScriptedRegistry::Instance().reads().back(), "4 230");
}

TEST_F(V1SourceTest, ServesProcessesUnderTheNamesOfProcessV2) {
  PlayObjects({Process()});
  const auto source = Open();
  Names(*source);
  const auto handle =
      Handle(*source, {{.counterset = kProcessV2Guid, .instance = "*"}});
  Read(*handle);
  EXPECT_EQ(Text(0), "cmd:100:100=11,100 cmd:200:200=22,200 _Total:0=33,0");
  const auto instances = perflib::ReadInstanceList(
      source->EnumerateCounterSetInstances(kProcessV2Guid).value());
  EXPECT_THAT(*instances, ElementsAre(perflib::InstanceName{"cmd:100", 100},
                                      perflib::InstanceName{"cmd:200", 200},
                                      perflib::InstanceName{"_Total", 0}));
}

TEST_F(V1SourceTest, RefusesIdentifiersAsPerfLibDoes) {
  PlayObjects({Memory(), Process()});
  const auto source = Open();
  Names(*source);
  const auto handle = source->OpenQueryHandle().value();
  std::vector<CounterIdentifier> identifiers = {
      {.counterset = Guid()},
      {.counterset = kMemoryGuid, .counter_id = 7},
      {.counterset = kMemoryGuid, .instance = "*"},
      {.counterset = kMemoryGuid},
      {.counterset = kMemoryGuid}};
  ASSERT_OK(handle->AddCounters(&identifiers));
  std::vector<uint32_t> statuses;
  for (const auto& one : identifiers) statuses.push_back(one.status);
  EXPECT_THAT(statuses, ElementsAre(4200, 4202, 87, 0, 183));
  EXPECT_THAT(perflib::ReadCounterIdentifiers(*handle->QueryCounterInfo()),
              testing::IsOkAndHolds(SizeIs(1)));
}

TEST_F(V1SourceTest, AbsentObjectsHaveNoData) {
  PlayObjects({Memory(), Process()});
  const auto source = Open();
  Names(*source);
  const auto handle =
      Handle(*source, {{.counterset = kMemoryGuid},
                       {.counterset = kProcessGuid, .instance = "*"}});
  PlayObjects({Memory()});  // its service has stopped
  Read(*handle);
  EXPECT_EQ(Text(0), "4096");
  EXPECT_EQ(block_.results[1].type, HeaderType::kErrorReturn);
  EXPECT_EQ(block_.results[1].status, 232);  // ERROR_NO_DATA
}

// Its values come back as soon as the provider does.
TEST_F(V1SourceTest, AStoppedServiceStaysInTheList) {
  PlayObjects({Memory(), Process()});
  const auto source = Open();
  Names(*source);
  const auto handle = Handle(*source, {{.counterset = kMemoryGuid}});
  json stopped = Memory();
  stopped["stopped"] = true;
  PlayObjects({stopped, Process()});
  ListAgain(*source);
  EXPECT_THAT(Names(*source),
              UnorderedElementsAre("Memory", "Process", "Process V2"));
  Read(*handle);
  EXPECT_EQ(block_.results[0].status, 232);
  PlayObjects({Memory(), Process()});
  Read(*handle);
  EXPECT_EQ(Text(0), "4096");
  Read(*Handle(*source, {{.counterset = kMemoryGuid}}));
  // Its index may become another's.
  json other = Memory();
  other["name"] = "Other";
  PlayObjects({other});
  ListAgain(*source);
  EXPECT_THAT(Names(*source), ElementsAre("Other"));
}

// As on a German Windows whose English names are incomplete or missing.
TEST_F(V1SourceTest, ServesObjectsWithoutEnglishNames) {
  const auto open = [](const std::string& language) {
    return MakeV1Source(
        [] {
          return MakeRegistryPerformanceData(
              testing::ScriptedRegistryFunctions(), "");
        },
        absl::InfiniteDuration(), &Clock(), language);
  };
  json localized = Memory();
  localized.erase("name");
  localized["localized_name"] = "Speicher";
  localized["counters"][0].erase("name");
  json unnamed = localized;
  unnamed["index"] = 5000;
  unnamed.erase("localized_name");
  json english = Process();
  english["localized_name"] = "Prozess";
  PlayObjects({localized, unnamed, english});
  EXPECT_THAT(
      Names(*open("007")),
      UnorderedElementsAre("Speicher", "object 5000", "Process", "Process V2"));
  EXPECT_THAT(Names(*open("")), UnorderedElementsAre("object 4", "object 5000",
                                                     "Process", "Process V2"));
  PlayObjects({localized, unnamed});  // no English name at all
  const auto source = open("007");
  EXPECT_THAT(Names(*source), UnorderedElementsAre("Speicher", "object 5000"));
  const auto counters = perflib::ReadStringBuffer(
      source
          ->QueryCounterSetRegistrationInfo(
              perflib::V1CountersetGuid("object 5000"),
              RegistrationRequest::kCounterEnglishNames, 0)
          .value());
  ASSERT_OK(counters);
  EXPECT_EQ((*counters)[0].text, "counter 24");
  Read(*Handle(*source,
               {{.counterset = perflib::V1CountersetGuid("Speicher")},
                {.counterset = perflib::V1CountersetGuid("object 5000")}}));
  EXPECT_EQ(Text(0), "4096");
  EXPECT_EQ(Text(1), "4096");
}

// Windows takes an empty value as "Global", which loads every provider.
TEST_F(V1SourceTest, AHandleWithoutQueriesReadsNothing) {
  PlayObjects({Memory()});
  const auto source = Open();
  Names(*source);
  const size_t reads = ScriptedRegistry::Instance().reads().size();
  EXPECT_THAT(
      source->OpenQueryHandle().value()->QueryCounterData(&bytes_),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no queries")));
  EXPECT_EQ(ScriptedRegistry::Instance().reads().size(), reads);
}

TEST_F(V1SourceTest, AMissingNameTableIsNamed) {
  Play({{"", json::object()}});
  const auto source = Open();
  EXPECT_THAT(source->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("Counter 009"), HasSubstr("lodctr /R"),
                             HasSubstr("ERROR_FILE_NOT_FOUND"))));
}

TEST_F(V1SourceTest, ChangedCountersGetANewRegistration) {
  PlayObjects({Memory()});
  const auto source = Open();
  Names(*source);
  const auto handle = Handle(*source, {{.counterset = kMemoryGuid}});
  json changed = Memory();
  changed["counters"][0]["type"] = "PERF_COUNTER_BULK_COUNT";
  PlayObjects({changed});
  Read(*handle);
  EXPECT_EQ(block_.results[0].status, 232);
  const auto info = perflib::ReadCountersetStruct(
      source
          ->QueryCounterSetRegistrationInfo(
              kMemoryGuid, RegistrationRequest::kCountersetStruct, 0)
          .value());
  EXPECT_EQ(info->counters[0].type,
            perflib::FindCounterTypeByName("PERF_COUNTER_BULK_COUNT")->type);
  Read(*Handle(*source, {{.counterset = kMemoryGuid}}));
  EXPECT_EQ(Text(0), "4096");
}

// Equal types are not equal counters.
TEST_F(V1SourceTest, CountersThatChangePlacesGetANewRegistration) {
  json memory = Memory();
  memory["counters"].push_back({{"index", 26},
                                {"name", "Committed Bytes"},
                                {"type", "PERF_COUNTER_LARGE_RAWCOUNT"},
                                {"value", 8192}});
  PlayObjects({memory});
  const auto source = Open();
  Names(*source);
  const auto handle =
      Handle(*source, {{.counterset = kMemoryGuid, .counter_id = 0}});
  Read(*handle);
  EXPECT_EQ(Text(0), "4096");
  std::swap(memory["counters"][0], memory["counters"][1]);
  PlayObjects({memory});
  for (int i = 0; i < 2; ++i) {
    Read(*handle);
    EXPECT_EQ(block_.results[0].status, 232);
  }
  // The names are read once, not at each tick.
  EXPECT_THAT(ScriptedRegistry::Instance().reads(),
              ElementsAre("4", "counter 009", "4"));
  const auto names = perflib::ReadStringBuffer(
      source
          ->QueryCounterSetRegistrationInfo(
              kMemoryGuid, RegistrationRequest::kCounterEnglishNames, 0)
          .value());
  ASSERT_OK(names);
  EXPECT_EQ(names->at(0).text, "Committed Bytes");
  Read(*Handle(*source, {{.counterset = kMemoryGuid, .counter_id = 1}}));
  EXPECT_EQ(Text(0), "4096");
}

// After an installation, an index may be that of another object, and names of
// other counters.
TEST_F(V1SourceTest, AnIndexMayChangeItsMeaning) {
  PlayObjects({Memory()});
  const auto source = Open();
  Names(*source);
  const auto handle = Handle(*source, {{.counterset = kMemoryGuid}});
  json other = Memory();
  other["name"] = "Other";
  other["counters"][0]["index"] = 26;
  other["counters"][0]["name"] = "Number";
  PlayObjects({other});
  EXPECT_THAT(source->EnumerateCounterSetInstances(kMemoryGuid),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("232")));
  Read(*handle);
  EXPECT_EQ(block_.results[0].status, 232);
  EXPECT_EQ(NameOf(*source, perflib::V1CountersetGuid("Other")), "Other");
  EXPECT_THAT(source->QueryCounterSetRegistrationInfo(
                  kMemoryGuid, RegistrationRequest::kCountersetStruct, 0),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("4200")));
}

TEST_F(V1SourceTest, ReadsValuesLargerThanTheFirstBuffer) {
  json many = Process();
  for (int i = 0; i < 5000; ++i) {
    many["instances"].push_back({{"name", absl::StrCat("process ", i)}});
  }
  PlayObjects({many});
  const auto source = Open();
  Names(*source);
  Read(*Handle(*source, {{.counterset = kProcessGuid, .instance = "*"}}));
  EXPECT_EQ(block_.results[0].instances.count, 5003);
}

// A provider may ask for more memory for ever, or claim to have used more than
// there was.
TEST_F(V1SourceTest, BoundsTheBuffer) {
  RegistryFunctions functions = testing::ScriptedRegistryFunctions();
  functions.query_value = [](void*, const char16_t*, uint32_t*, uint32_t*,
                             void*, uint32_t* size) -> uint32_t {
    *size = 0;
    return 234;  // ERROR_MORE_DATA
  };
  EXPECT_THAT(MakeRegistryPerformanceData(functions, "")->Query("4", &bytes_),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("larger than 67108864")));
  functions.query_value = [](void*, const char16_t*, uint32_t*, uint32_t*,
                             void*, uint32_t* size) -> uint32_t {
    ++*size;
    return 0;
  };
  EXPECT_THAT(MakeRegistryPerformanceData(functions, "")->Query("4", &bytes_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("reported")));
}

TEST_F(V1SourceTest, ReadsRemoteMachines) {
  Play({{"db1", {{"v1", json::array({Memory()})}}},
        {"closed", {{"errors", {{"RegConnectRegistry", 5}}}}}});
  const auto source = Open("db1");
  EXPECT_THAT(Names(*source), ElementsAre("Memory"));
  Read(*Handle(*source, {{.counterset = kMemoryGuid}}));
  EXPECT_EQ(Text(0), "4096");
  EXPECT_THAT(Open("closed")->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("RegConnectRegistry of closed"),
                             HasSubstr("Performance Monitor Users"))));
  EXPECT_THAT(Open("absent")->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("(53)")));
}

// Data whose reads of some values hang until the test ends.
class HangingData : public PerformanceData {
 public:
  struct Gate {
    absl::Mutex mutex;
    int hanging = 0;
    bool is_open = false;
  };
  HangingData(std::shared_ptr<Gate> gate, std::set<std::string> values)
      : gate_(std::move(gate)), values_(std::move(values)) {}

  absl::Status Query(const std::string& value, std::string* bytes) override {
    if (!values_.contains(value)) return data_->Query(value, bytes);
    absl::MutexLock lock(&gate_->mutex);
    ++gate_->hanging;
    gate_->mutex.Await(absl::Condition(&gate_->is_open));
    --gate_->hanging;
    return absl::CancelledError("the test has ended");
  }

 private:
  const std::unique_ptr<PerformanceData> data_ =
      MakeRegistryPerformanceData(testing::ScriptedRegistryFunctions(), "");
  const std::shared_ptr<Gate> gate_;
  const std::set<std::string> values_;
};

// A remote machine has no process that could be ended.
TEST_F(V1SourceTest, AHangingReadOfAListHidesNoOtherCounterset) {
  PlayObjects({Memory(), Process()});
  static auto* const clock =
      new testing::SimulatedClock(testing::SimulatedClock::Waits::kSimulated);
  const auto gate = std::make_shared<HangingData::Gate>();
  const auto source = MakeV1Source(
      [gate] {
        return std::make_unique<HangingData>(
            gate, std::set<std::string>{"OLD_Global", "230"});
      },
      absl::ZeroDuration(), clock);
  EXPECT_FALSE(source->EnumerateCounterSet().ok());
  for (const int hanging : {1, 2}) {
    absl::MutexLock lock(&gate->mutex);
    const auto hangs = [&] { return gate->hanging == hanging; };
    gate->mutex.Await(absl::Condition(&hangs));
    clock->AwaitWaiting(absl::Seconds(15));
    clock->Advance(absl::Seconds(15));
  }
  EXPECT_TRUE(source->AwaitList(absl::InfiniteDuration()));
  EXPECT_THAT(Names(*source), ElementsAre("Memory"));
  EXPECT_THAT(source->Problems(),
              Contains(AllOf(HasSubstr("counterset \"Process\""),
                             HasSubstr("no answer within 15s"))));
  absl::MutexLock lock(&gate->mutex);
  gate->is_open = true;
  const auto ended = [&] { return gate->hanging == 0; };
  gate->mutex.Await(absl::Condition(&ended));
}

// Data that cannot be listed as a whole, and that calls `on_read` before the
// object Memory is read alone.
class UnlistableData : public PerformanceData {
 public:
  explicit UnlistableData(std::function<void()> on_read)
      : on_read_(std::move(on_read)) {}

  absl::Status Query(const std::string& value, std::string* bytes) override {
    if (value == "OLD_Global") return absl::AbortedError("crashed");
    if (value == "4") on_read_();
    return data_->Query(value, bytes);
  }

 private:
  const std::unique_ptr<PerformanceData> data_ =
      MakeRegistryPerformanceData(testing::ScriptedRegistryFunctions(), "");
  const std::function<void()> on_read_;
};

// As when the aggregator changes the plan while a slow machine is listed.
TEST_F(V1SourceTest, NamesThatArriveDuringAListAreReadByTheNext) {
  std::vector<json> objects = {Memory(), Memory(), Memory()};
  objects[1]["index"] = 5000;
  objects[1]["name"] = "My Service";
  objects[2]["index"] = 6000;
  objects[2]["name"] = "Other Service";
  PlayObjects(objects);
  static auto* const clock =
      new testing::SimulatedClock(testing::SimulatedClock::Waits::kSimulated);
  std::unique_ptr<Source> source;
  std::vector<std::string> next_names = {"Other Service", "My Service"};
  source = MakeV1Source(
      [&] {
        return std::make_unique<UnlistableData>([&] {
          if (next_names.empty()) return;
          source->Want({next_names.back()});
          next_names.pop_back();
        });
      },
      absl::InfiniteDuration(), clock);
  const auto finish_list = [&] {
    EXPECT_OK(source->EnumerateCounterSet());
    EXPECT_TRUE(source->AwaitList(absl::InfiniteDuration()));
  };
  EXPECT_THAT(Names(*source), ElementsAre("Memory"));
  finish_list();
  finish_list();
  EXPECT_THAT(Names(*source),
              UnorderedElementsAre("Memory", "My Service", "Other Service"));
  // Without other names, the next list begins later.
  const size_t reads = ScriptedRegistry::Instance().reads().size();
  finish_list();
  EXPECT_EQ(ScriptedRegistry::Instance().reads().size(), reads);
}

// A counterset that both interfaces have is read by V2.
TEST_F(V1SourceTest, StandsBesideV2) {
  json numbers = Memory();
  numbers["index"] = 900;
  numbers["name"] = "numbers";
  Play({{"",
         {{"v1", json::array({Memory(), numbers})},
          {"countersets", json::array({Numbers()})}}}});
  const auto source = UniteSources(
      MakePerfLibSource(testing::ScriptedPerfLibFunctions(), ""), Open());
  EXPECT_THAT(Names(*source), UnorderedElementsAre("Numbers", "Memory"));
  const Guid v2 = {.data1 = 0x5e};
  EXPECT_NE(source->HandleGroup(v2), source->HandleGroup(kMemoryGuid));
  Read(*Handle(*source, {{.counterset = kMemoryGuid}}));
  EXPECT_EQ(Text(0), "4096");
  Read(*Handle(*source, {{.counterset = v2}}));
  EXPECT_EQ(Text(0), "5");

  // One interface may be missing.
  const json without_v2 = {{"",
                            {{"errors", {{"PerfEnumerateCounterSet", 5}}},
                             {"v1", json::array({Memory(), numbers})}}}};
  Play(without_v2);
  EXPECT_THAT(Names(*source), ElementsAre("Memory"));  // V2 had Numbers
  const auto only_v1 = UniteSources(
      MakePerfLibSource(testing::ScriptedPerfLibFunctions(), ""), Open());
  EXPECT_THAT(Names(*only_v1), UnorderedElementsAre("Memory", "numbers"));
  EXPECT_THAT(only_v1->Problems(),
              ElementsAre(HasSubstr("PerfEnumerateCounterSet")));
  // The twin is withdrawn once V2 answers.
  Play({{"",
         {{"v1", json::array({Memory(), numbers})},
          {"countersets", json::array({Numbers()})}}}});
  EXPECT_THAT(Names(*only_v1), UnorderedElementsAre("Numbers", "Memory"));
  EXPECT_THAT(only_v1->QueryCounterSetRegistrationInfo(
                  perflib::V1CountersetGuid("numbers"),
                  RegistrationRequest::kCountersetStruct, 0),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("4200")));
}

}  // namespace
}  // namespace fleetperf::agent
