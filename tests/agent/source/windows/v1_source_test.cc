// The source of PerfLib V1 over a scripted registry. On Windows and under Wine,
// the same functions are exported by a DLL.

#include "agent/source/windows/v1/v1_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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
#include "agent/source/windows/v1/provider_process.h"
#include "base/child_process.h"
#include "base/files.h"
#include "perflib/block_reader.h"
#include "perflib/counter_type.h"
#include "perflib/registration.h"
#include "perflib/v1/counterset.h"
#include "tests/scripted_perflib/exports.h"
#include "tests/scripted_perflib/scripted_perflib.h"
#include "tests/scripted_perflib/scripted_registry.h"
#include "tests/support/log_capture.h"
#include "tests/support/simulated_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"
#include "tests/support/v1_bytes.h"

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
using ::testing::Not;
using testing::ScriptedRegistry;
using ::testing::SizeIs;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

json Memory() {
  return {{"index", 4},
          {"name", "Memory"},
          {"counters",
           {{{"index", 24},
             {"name", "Available Bytes"},
             {"type", "PERF_COUNTER_LARGE_RAWCOUNT"},
             {"value", 4096}}}}};
}

json Objects() {
  json objects = Memory();
  objects["index"] = 260;
  objects["name"] = "Objects";
  return objects;
}

json Process() {
  return {{"index", 230},
          {"name", "Process"},
          {"counters",
           {{{"index", 6},
             {"name", "% Processor Time"},
             {"type", "PERF_100NSEC_TIMER"}},
            {{"index", 784},
             {"name", "ID Process"},
             {"type", "PERF_COUNTER_RAWCOUNT"},
             {"size", 4}}}},
          {"instances",
           {{{"name", "cmd"},
             {"values", {{"0", {{"value", 11}}}, {"1", {{"value", 100}}}}}},
            {{"name", "cmd"},
             {"values", {{"0", {{"value", 22}}}, {"1", {{"value", 200}}}}}},
            {{"name", "_Total"}, {"values", {{"0", {{"value", 33}}}}}}}}};
}

// A counterset of V2.
json Numbers() {
  return {{"guid", "{0000005e-0000-0000-0000-000000000000}"},
          {"name", "Numbers"},
          {"counters",
           {{{"id", 1},
             {"type", "PERF_COUNTER_LARGE_RAWCOUNT"},
             {"name", "Number"},
             {"value", 5}}}}};
}

const Guid kMemoryGuid = perflib::V1CountersetGuid("Memory");
const Guid kProcessGuid = perflib::V1CountersetGuid("Process");
const Guid kProcessV2Guid = perflib::V1CountersetGuid("Process V2");

class V1SourceTest : public ::testing::Test {
 protected:
  static void Play(const json& machines) {
    const auto scenario =
        testing::ParseScenario(json{{"machines", machines}}.dump());
    ScriptedRegistry::Instance().Play(scenario);
    testing::ScriptedPerfLib::Instance().Play(scenario);
  }
  static void PlayObjects(const std::vector<json>& objects) {
    Play({{"", {{"v1", objects}}}});
  }

  static std::unique_ptr<Source> Open(const std::string& machine = "") {
    return MakeV1Source(
        [machine] {
          return MakeRegistryPerformanceData(
              testing::ScriptedRegistryFunctions(), machine);
        },
        absl::InfiniteDuration(), &Clock());
  }
  // Threads may use the clock after the end of their test.
  static testing::SimulatedClock& Clock() {
    static auto* const clock = new testing::SimulatedClock;
    return *clock;
  }
  static void ListAgain(Source& source) {
    Clock().Advance(absl::Minutes(10));
    EXPECT_OK(source.EnumerateCounterSet());
    EXPECT_TRUE(source.AwaitList(absl::InfiniteDuration()));
  }

  static std::vector<std::string> Names(Source& source) {
    std::vector<std::string> names;
    const auto guids = source.EnumerateCounterSet();
    EXPECT_OK(guids);
    for (const Guid& guid : guids.value_or(std::vector<Guid>())) {
      names.push_back(NameOf(source, guid));
    }
    return names;
  }
  static std::string NameOf(Source& source, const Guid& guid) {
    return perflib::ReadString(
               source
                   .QueryCounterSetRegistrationInfo(
                       guid, RegistrationRequest::kCountersetEnglishName, 0)
                   .value())
        .value();
  }

  static std::unique_ptr<QueryHandle> Handle(
      Source& source, const std::vector<CounterIdentifier>& identifiers) {
    auto handle = source.OpenQueryHandle().value();
    auto added = identifiers;
    EXPECT_OK(handle->AddCounters(&added));
    for (const auto& one : added) EXPECT_EQ(one.status, 0);
    return handle;
  }

  // Returns "name:id=value,value ..." of a result.
  std::string Text(size_t result) const {
    const perflib::QueryResult& found = block_.results[result];
    std::string text;
    const auto values = block_.Values(found);
    const auto instances = block_.Instances(found);
    const size_t rows = instances.empty() ? 1 : instances.size();
    for (size_t row = 0; row < rows; ++row) {
      if (!instances.empty()) {
        absl::StrAppend(&text, row > 0 ? " " : "", block_.Name(instances[row]),
                        ":", instances[row].instance_id, "=");
      }
      const size_t columns = values.size() / rows;
      for (size_t i = 0; i < columns; ++i) {
        absl::StrAppend(&text, i > 0 ? "," : "", values[row * columns + i]);
      }
    }
    return text;
  }

  void Read(QueryHandle& handle) {
    ASSERT_OK(handle.QueryCounterData(&bytes_));
    perflib::ReadBlock(bytes_, &block_);
    ASSERT_EQ(block_.defect_count, 0);
  }

  std::string bytes_;
  perflib::ParsedBlock block_;
};

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

// Any size of an object may lie: its own result fails, and those of objects
// whose place is certain do not.
TEST_F(V1SourceTest, LyingObjectsFailAlone) {
  // CounterSize and CounterOffset are at 96 and 100, and at 136 and 140.
  for (const size_t offset :
       {4, 8, 32, 40, 64, 96, 100, 136, 140, 144, 160, 164}) {
    json liar = Process();
    liar["corrupt"] =
        json::array({{{"offset", offset}, {"value", 0x7FFFFFFF}}});
    PlayObjects({Memory(), Process()});
    const auto source = Open();
    Names(*source);
    const auto handle =
        Handle(*source, {{.counterset = kProcessGuid, .instance = "*"},
                         {.counterset = kMemoryGuid}});
    PlayObjects({liar, Memory()});
    Read(*handle);
    EXPECT_EQ(block_.results[0].type, HeaderType::kErrorReturn) << offset;
    EXPECT_EQ(block_.results[0].status, 13) << offset;  // ERROR_INVALID_DATA
    EXPECT_EQ(Text(1), "4096") << offset;
    EXPECT_THAT(
        source->EnumerateCounterSetInstances(kProcessGuid),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("PERF_")))
        << offset;
  }
}

TEST_F(V1SourceTest, ADefectIsLoggedOnceForAllHandles) {
  PlayObjects({Process()});
  const auto source = Open();
  Names(*source);
  json liar = Process();
  liar["corrupt"] = json::array({{{"offset", 4}, {"value", 0x7FFFFFFF}}});
  const testing::LogCapture log;
  for (int i = 0; i < 2; ++i) {
    PlayObjects({Process()});
    const auto handle =
        Handle(*source, {{.counterset = kProcessGuid, .instance = "*"}});
    PlayObjects({liar});
    Read(*handle);
    EXPECT_EQ(block_.results[0].status, perflib::kErrorInvalidData);
  }
  EXPECT_THAT(log.Lines(),
              ElementsAre(HasSubstr("PERF_OBJECT_TYPE.DefinitionLength")));
}

// An object with a wrong length hides those behind it, and none before it.
TEST_F(V1SourceTest, ALyingLengthHidesTheObjectsBehind) {
  PlayObjects({Memory(), Process(), Objects()});
  const auto source = Open();
  Names(*source);
  const auto handle =
      Handle(*source, {{.counterset = kMemoryGuid},
                       {.counterset = kProcessGuid, .instance = "*"},
                       {.counterset = perflib::V1CountersetGuid("Objects")}});
  json liar = Process();
  liar["corrupt"] = json::array({{{"offset", 0}, {"value", 0x7FFFFFFF}}});
  PlayObjects({Memory(), liar, Objects()});
  Read(*handle);
  EXPECT_EQ(Text(0), "4096");
  EXPECT_EQ(block_.results[1].status, perflib::kErrorInvalidData);
  EXPECT_EQ(block_.results[2].status, perflib::kErrorInvalidData);
}

// Data that no script makes.
class FixedPerformanceData : public PerformanceData {
 public:
  FixedPerformanceData(std::string names, std::string objects)
      : names_(std::move(names)), objects_(std::move(objects)) {}

  absl::Status Query(const std::string& value, std::string* bytes) override {
    *bytes = value == "Counter 009" ? names_ : objects_;
    return absl::OkStatus();
  }

 private:
  const std::string names_;
  const std::string objects_;
};

std::unique_ptr<Source> OpenFixed(const std::string& names,
                                  const std::string& objects) {
  return MakeV1Source(
      [=] { return std::make_unique<FixedPerformanceData>(names, objects); },
      absl::InfiniteDuration());
}

TEST_F(V1SourceTest, InstancesHaveTheirParentsNamesAndTheirIds) {
  const testing::V1CounterBytes id = {
      .name_index = 784, .type = perflib::kPerfCounterRawcount, .size = 4};
  const std::string processes =
      testing::MakeV1Object({.name_index = 230,
                             .counters = {id},
                             .instances = {{.name = "cmd", .values = {100}},
                                           {.name = "svc", .values = {200}}}});
  testing::V1CounterBytes thread_id = id;
  thread_id.name_index = 804;
  const std::string threads = testing::MakeV1Object(
      {.name_index = 232,
       .counters = {thread_id},
       .instances = {{.name = "0", .values = {11}, .parent_index = 230},
                     {.name = "0",
                      .values = {12},
                      .parent_index = 230,
                      .parent_position = 1},
                     // A parent that ended after its thread was listed.
                     {.name = "0",
                      .values = {13},
                      .parent_index = 230,
                      .parent_position = 2}}});
  // Instances with the same name, of which only some have an id.
  const std::string disks = testing::MakeV1Object(
      {.name_index = 236,
       .counters = {{.name_index = 408,
                     .type = perflib::kPerfCounterLargeRawcount}},
       .instances = {{.name = "disk", .values = {1}},
                     {.name = "disk", .values = {2}},
                     {.name = "disk", .values = {3}, .unique_id = 7}}});
  const auto source =
      OpenFixed(testing::V1NameTable({{230, "Process"},
                                      {232, "Thread"},
                                      {236, "LogicalDisk"},
                                      {408, "Free Megabytes"},
                                      {784, "ID Process"},
                                      {804, "ID Thread"}}),
                testing::V1Data({}, {processes, threads, disks}));
  Names(*source);
  const Guid thread_guid = perflib::V1CountersetGuid("Thread");
  Read(
      *Handle(*source, {{.counterset = thread_guid, .instance = "*"},
                        {.counterset = thread_guid, .instance = "svc/0"},
                        {.counterset = perflib::V1CountersetGuid("LogicalDisk"),
                         .instance = "*"},
                        {.counterset = perflib::V1CountersetGuid("LogicalDisk"),
                         .instance = "*",
                         .instance_id = 7}}));
  EXPECT_EQ(Text(0), "cmd/0:11=11 svc/0:12=12 0:13=13");
  EXPECT_EQ(Text(1), "svc/0:12=12");
  EXPECT_EQ(Text(2), "disk:0=1 disk:0=2 disk:7=3");
  EXPECT_EQ(Text(3), "disk:7=3");
  EXPECT_THAT(*perflib::ReadInstanceList(
                  source->EnumerateCounterSetInstances(thread_guid).value()),
              ElementsAre(perflib::InstanceName{"cmd/0", 11},
                          perflib::InstanceName{"svc/0", 12},
                          perflib::InstanceName{"0", 13}));
}

// Returns an object whose rows are a hundred times as large as it is, because
// each instance repeats the long name of its parent, object 2.
std::string ChildrenOfOneParent() {
  testing::V1ObjectBytes object = {
      .name_index = 230,
      .counters = {{.type = perflib::kPerfCounterRawcount, .size = 4}}};
  object.instances.assign(10'000, {.parent_index = 2});
  return testing::MakeV1Object(object);
}

// The same, because the values of all definitions are the same 4 bytes.
std::string OverlappingDefinitions() {
  testing::V1ObjectBytes object = {
      .name_index = 230,
      .counters = {{.type = perflib::kPerfCounterRawcount, .size = 4}}};
  constexpr size_t kCounters = 500;
  object.counters.resize(kCounters,
                         {.type = perflib::kPerfCounterRawcount, .size = 0});
  object.instances.assign(1'000, {.name = "x"});
  std::string bytes = testing::MakeV1Object(object);
  for (size_t i = 1; i < kCounters; ++i) {
    bytes = testing::WithU32(std::move(bytes), 64 + 40 * i + 32, 4);
    bytes = testing::WithU32(std::move(bytes), 64 + 40 * i + 36, 4);
  }
  return bytes;
}

TEST_F(V1SourceTest, ResultsAreBoundedByTheirObject) {
  const std::string parent = testing::MakeV1Object(
      {.name_index = 2, .instances = {{.name = std::string(2000, 'p')}}});
  const std::string memory = testing::MakeV1Object(
      {.name_index = 4,
       .counters = {{.type = perflib::kPerfCounterRawcount, .size = 4}},
       .instances = {{.values = {4096}}},
       .has_instances = false});
  for (const std::string& large :
       {ChildrenOfOneParent(), OverlappingDefinitions()}) {
    const auto source = OpenFixed(
        testing::V1NameTable({{2, "Parent"}, {4, "Memory"}, {230, "Process"}}),
        testing::V1Data({}, {large, parent, memory}));
    Names(*source);
    Read(*Handle(*source, {{.counterset = kProcessGuid, .instance = "*"},
                           {.counterset = kMemoryGuid}}));
    EXPECT_EQ(block_.results[0].type, HeaderType::kErrorReturn);
    EXPECT_EQ(block_.results[0].status, perflib::kErrorInvalidData);
    EXPECT_EQ(Text(1), "4096");
    EXPECT_LT(bytes_.size(), 1000);
  }
}

// Names that are only compared cost as much time.
TEST_F(V1SourceTest, ComparedNamesAreBoundedByTheirObject) {
  const std::string parent = testing::MakeV1Object(
      {.name_index = 2, .instances = {{.name = std::string(2000, 'p')}}});
  const auto source =
      OpenFixed(testing::V1NameTable({{2, "Parent"}, {230, "Process"}}),
                testing::V1Data({}, {ChildrenOfOneParent(), parent}));
  Names(*source);
  Read(*Handle(*source, {{.counterset = kProcessGuid, .instance = "q"}}));
  EXPECT_EQ(block_.results[0].status, perflib::kErrorInvalidData);
  EXPECT_THAT(source->EnumerateCounterSetInstances(kProcessGuid),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the names of the instances of Process have "
                                 "more than")));
}

TEST_F(V1SourceTest, AMissingNameTableIsNamed) {
  Play({{"", json::object()}});
  const auto source = Open();
  EXPECT_THAT(source->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("Counter 009"), HasSubstr("lodctr /R"),
                             HasSubstr("ERROR_FILE_NOT_FOUND"))));
}

TEST_F(V1SourceTest, CorruptNameTablesAreReadToTheirDefect) {
  const std::string objects = testing::V1Data(
      {}, {testing::MakeV1Object(
              {.name_index = 4,
               .counters = {{.type = perflib::kPerfCounterBulkCount}},
               .has_instances = false})});
  std::string names = testing::V1NameTable({{4, "Memory"}, {6, "Lost"}});
  names.resize(names.size() - 4);
  const auto source = OpenFixed(names, objects);
  EXPECT_THAT(Names(*source), ElementsAre("Memory"));
  EXPECT_THAT(source->Problems(),
              ElementsAre(AllOf(HasSubstr("lodctr /R"), HasSubstr("no NUL"))));
  EXPECT_THAT(OpenFixed("x", objects)->EnumerateCounterSet(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a text of the name table has no NUL")));
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

// The providers of these tests run in a process that may hang or crash.
class ProviderProcessTest : public V1SourceTest {
 protected:
  std::vector<std::string> Command(const std::vector<json>& objects) {
    const std::string script = directory_.File("script.json");
    EXPECT_OK(WriteFile(script,
                        json{{"machines", {{"", {{"v1", objects}}}}}}.dump()));
    const std::string self = ExecutablePath().value();
    const std::string folder = self.substr(0, self.find_last_of("/\\"));
    const std::string suffix =
        self.substr(self.size() - 4) == ".exe" ? ".exe" : "";
    return {absl::StrCat(folder, "/scripted_provider_process", suffix), script};
  }
  std::unique_ptr<Source> OpenProcess(const std::vector<json>& objects,
                                      absl::Duration timeout) {
    return MakeV1Source(
        [command = Command(objects), timeout] {
          return MakeProcessPerformanceData(command, timeout);
        },
        absl::InfiniteDuration());
  }

  testing::TempDirectory directory_;
};

TEST_F(ProviderProcessTest, AnswersAsTheRegistryDoes) {
  const auto source =
      OpenProcess({Memory(), Process()}, absl::InfiniteDuration());
  EXPECT_THAT(Names(*source),
              UnorderedElementsAre("Memory", "Process", "Process V2"));
  const auto handle =
      Handle(*source, {{.counterset = kMemoryGuid},
                       {.counterset = kProcessGuid, .instance = "*"}});
  for (int i = 0; i < 3; ++i) {
    Read(*handle);
    EXPECT_EQ(Text(0), "4096");
    EXPECT_EQ(Text(1), "cmd:100=11,100 cmd:200=22,200 _Total:0=33,0");
  }
}

TEST_F(ProviderProcessTest, ErrorsOfTheChildReachTheParent) {
  const auto data =
      MakeProcessPerformanceData(Command({Memory()}), absl::InfiniteDuration());
  std::string bytes;
  EXPECT_THAT(
      data->Query("Help 009", &bytes),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("RegQueryValueEx")));
  EXPECT_OK(data->Query("4", &bytes));  // the child still answers
}

TEST_F(ProviderProcessTest, ACrashCostsOneQueryAndTheNextStartsAnotherChild) {
  json crashing = Process();
  crashing["crashes_from"] = 0;
  const auto data = MakeProcessPerformanceData(Command({Memory(), crashing}),
                                               absl::InfiniteDuration());
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(data->Query("4", &bytes));
    EXPECT_THAT(data->Query("230", &bytes),
                StatusIs(absl::StatusCode::kAborted,
                         AllOf(HasSubstr("asked for \"230\": the process"),
                               ::testing::AnyOf(HasSubstr("status 3"),
                                                HasSubstr("0x00000003")))));
  }
}

TEST_F(ProviderProcessTest, AHangingChildIsEnded) {
  json hanging = Process();
  hanging["hangs_from"] = 0;
  const auto data = MakeProcessPerformanceData(Command({Memory(), hanging}),
                                               absl::Milliseconds(300));
  std::string bytes;
  EXPECT_THAT(
      data->Query("230", &bytes),
      StatusIs(absl::StatusCode::kAborted, HasSubstr("no answer within")));
}

TEST_F(ProviderProcessTest, AMissingExecutableIsNamed) {
  const auto data =
      MakeProcessPerformanceData({"/no/such/file"}, absl::Seconds(1));
  std::string bytes;
  EXPECT_THAT(data->Query("4", &bytes), StatusIs(absl::StatusCode::kNotFound,
                                                 HasSubstr("/no/such/file")));
}

// If one provider crashes the list, the well-known objects are read one by one,
// and those that the plan names, in whatever way.
TEST_F(ProviderProcessTest, OneCrashingProviderHidesNoOther) {
  json crashing = Process();
  crashing["crashes_from"] = 0;
  json own = Memory();
  own["index"] = 5000;
  own["name"] = "My Service";
  json other_crashing = crashing;
  other_crashing["index"] = 6000;
  other_crashing["name"] = "My Crash";
  for (const std::string& wanted :
       {std::string("my service"), std::string("My *"), std::string("*"),
        perflib::V1CountersetGuid("My Service").ToString()}) {
    const auto source = OpenProcess({Memory(), crashing, own, other_crashing},
                                    absl::InfiniteDuration());
    source->Want({wanted});
    EXPECT_THAT(Names(*source), UnorderedElementsAre("Memory", "My Service"))
        << wanted;
    EXPECT_THAT(source->Problems(),
                AllOf(Contains(HasSubstr("cannot list its countersets")),
                      Contains(HasSubstr("counterset \"Process\":")),
                      Not(Contains(HasSubstr("\"Memory\"")))))
        << wanted;
  }
}

// A plan that comes after such a list begins another.
TEST_F(ProviderProcessTest, ANewPlanIsReadAtOnceIfTheListFails) {
  json crashing = Process();
  crashing["crashes_from"] = 0;
  json own = Memory();
  own["index"] = 5000;
  own["name"] = "My Service";
  const auto source =
      OpenProcess({Memory(), crashing, own}, absl::InfiniteDuration());
  EXPECT_THAT(Names(*source), ElementsAre("Memory"));
  source->Want({"My Service"});
  EXPECT_OK(source->EnumerateCounterSet());
  EXPECT_TRUE(source->AwaitList(absl::InfiniteDuration()));
  EXPECT_THAT(Names(*source), UnorderedElementsAre("Memory", "My Service"));
}

// Objects behind one that lies about its length are read one by one.
TEST_F(V1SourceTest, OneLyingProviderHidesNoOther) {
  json liar = Process();
  liar["corrupt"] = json::array({{{"offset", 0}, {"value", 0x7FFFFFFF}}});
  PlayObjects({liar, Memory()});
  const auto source = Open();
  EXPECT_THAT(Names(*source), ElementsAre("Memory"));
  EXPECT_THAT(source->Problems(),
              Contains(AllOf(HasSubstr("counterset \"Process\""),
                             HasSubstr("PERF_OBJECT_TYPE.TotalByteLength"))));
}

}  // namespace
}  // namespace fleetperf::agent
