// The source of PerfLib V1 reads data that lies, or that no sound provider
// makes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "perflib/block_reader.h"
#include "perflib/counter_type.h"
#include "perflib/registration.h"
#include "perflib/v1/counterset.h"
#include "tests/agent/source/windows/v1_source_fixture.h"
#include "tests/support/log_capture.h"
#include "tests/support/status_matchers.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::agent {
namespace {

using nlohmann::json;
using perflib::Guid;
using perflib::HeaderType;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

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
