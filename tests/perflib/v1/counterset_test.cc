#include "perflib/v1/counterset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "perflib/counter_type.h"
#include "tests/support/status_matchers.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::perflib {
namespace {

using ::testing::SizeIs;
using testing::StatusIs;
using testing::V1Data;
using testing::V1NameTable;
using testing::V1ObjectBytes;

V1Names Names() {
  return V1Names::Read(V1NameTable({{230, "Process"},
                                    {6, "% Processor Time"},
                                    {784, "ID Process"},
                                    {684, "Elapsed Time"},
                                    {200, "% Disk Read Time"},
                                    {208, "Avg. Disk sec/Read"},
                                    {10, "Multi"}}));
}

// An object whose types need everything that a formula can need.
V1ObjectBytes Process() {
  return {.name_index = 230,
          .counters =
              {{.name_index = 6, .type = kPerf100NsecTimer},
               {.name_index = 684, .type = kPerfElapsedTime, .scale = -3},
               {.name_index = 208, .type = kPerfAverageTimer, .size = 4},
               {.name_index = 208, .type = kPerfAverageBase, .size = 4},
               {.name_index = 784, .type = kPerfCounterRawcount, .size = 4},
               {.name_index = 10, .type = kPerfCounterMultiTimer, .size = 12},
               {.name_index = 200,
                .type = kPerfPrecision100NsTimer,
                .help_index = 201,
                .scale = 99,
                .detail_level = 300},
               {.name_index = 200, .type = kPerfLargeRawBase},
               {.name_index = 4711, .type = kPerfCounterBulkCount}},
          .instances = {{.name = "cmd",
                         .values = {11, 22, 33, 44, 4242, 55, 8, 66, 77, 88}},
                        {.name = "svc", .values = {1}, .unique_id = 5}},
          .help_index = 231,
          .perf_time = 1234,
          .perf_freq = 1000,
          .detail_level = 200};
}

class V1CountersetTest : public ::testing::Test {
 protected:
  V1CountersetTest() : V1CountersetTest(Process()) {}
  explicit V1CountersetTest(const V1ObjectBytes& object)
      : bytes_(V1Data({}, {testing::MakeV1Object(object)})) {
    ReadV1Data(bytes_, &data_);
    const V1Names help = V1Names::Read(
        V1NameTable({{201, "The time of reads."}, {231, "All processes."}}));
    registration_ =
        V1Registration(data_, data_.objects[0], Names(), help).value();
  }

  const CounterRegistration& Counter(uint32_t id) const {
    return *registration_.FindCounter(id);
  }

  const std::string bytes_;
  ParsedV1Data data_;
  CountersetRegistration registration_;
};

TEST_F(V1CountersetTest, NamesCounters) {
  EXPECT_EQ(registration_.name, "Process");
  EXPECT_EQ(registration_.provider_name, "PerfLib V1");
  EXPECT_TRUE(registration_.HasInstances());
  EXPECT_EQ(Counter(0).name, "% Processor Time");
  EXPECT_EQ(Counter(0).type, kPerf100NsecTimer);
  EXPECT_EQ(Counter(3).name, "");  // a base shares its neighbor's title
  EXPECT_EQ(Counter(6).help, "The time of reads.");
  EXPECT_EQ(Counter(1).default_scale, -3);
  EXPECT_EQ(Counter(6).default_scale, 0);  // 99 is no scale
  EXPECT_EQ(registration_.help, "All processes.");
  EXPECT_EQ(registration_.detail_level, 200);
  EXPECT_EQ(Counter(1).detail_level, 100);
  EXPECT_EQ(Counter(6).detail_level, 300);
  EXPECT_EQ(Counter(8).name, "counter 4711");
}

TEST_F(V1CountersetTest, LinksWhatFormulasNeed) {
  EXPECT_EQ(Counter(0).base_counter_id, kNoCounter);
  EXPECT_EQ(Counter(1).perf_time_id, kV1ObjectTime);
  EXPECT_EQ(Counter(1).perf_freq_id, kV1ObjectFreq);
  EXPECT_EQ(Counter(2).base_counter_id, 3);
  EXPECT_EQ(Counter(5).multi_id, kV1SecondValue + 5);
  EXPECT_EQ(Counter(6).base_counter_id, 7);
  EXPECT_NE(registration_.FindCounter(kV1ObjectTime), nullptr);
  EXPECT_NE(registration_.FindCounter(kV1SecondValue + 5), nullptr);
}

TEST_F(V1CountersetTest, GivesValuesByTheIdsOfTheRegistration) {
  const V1Values values(data_, data_.objects[0], registration_);
  const V1Instance& cmd = data_.Instances(data_.objects[0])[0];
  const auto value = [&](uint32_t id) { return values.Get(cmd, id).value; };
  EXPECT_EQ(value(0), 11);
  EXPECT_EQ(value(1), 22);
  EXPECT_EQ(value(2), 33);
  EXPECT_EQ(value(3), 44);
  EXPECT_EQ(value(5), 55);
  EXPECT_EQ(value(kV1SecondValue + 5), 8);
  EXPECT_EQ(value(6), 66);
  EXPECT_EQ(value(7), 77);
  EXPECT_EQ(value(kV1ObjectTime), 1234);
  EXPECT_EQ(value(kV1ObjectFreq), 1000);
  EXPECT_EQ(values.Get(cmd, 9).size, 0);
  EXPECT_EQ(values.Get(cmd, 0xFFFFFFFF).size, 0);
}

TEST_F(V1CountersetTest, IdentifiesInstancesByUniqueIdOrProcess) {
  const V1Values values(data_, data_.objects[0], registration_);
  const auto instances = data_.Instances(data_.objects[0]);
  EXPECT_EQ(values.InstanceId(instances[0]), 4242);
  EXPECT_EQ(values.InstanceId(instances[1]), 5);
}

// A name is no condition for an id.
TEST(V1ValuesTest, NamelessInstancesHaveUniqueIds) {
  V1ObjectBytes object = Process();
  object.instances = {{.values = {1}, .unique_id = 77}};
  // NameLength 0, instead of a NUL.
  const std::string bytes = testing::WithU32(
      V1Data({}, {testing::MakeV1Object(object)}), 104 + 64 + 9 * 40 + 20, 0);
  ParsedV1Data data;
  ReadV1Data(bytes, &data);
  EXPECT_EQ(data.defect_count, 0);
  ASSERT_EQ(data.instances.size(), 1);
  EXPECT_TRUE(data.instances[0].is_sound());
  EXPECT_EQ(data.Utf16FullName(data.objects[0], data.instances[0]), "");
  const auto registration =
      V1Registration(data, data.objects[0], Names(), V1Names()).value();
  const V1Values values(data, data.objects[0], registration);
  EXPECT_EQ(values.InstanceId(data.instances[0]), 77);
  EXPECT_EQ(values.Get(data.instances[0], 0).value, 1);
}

// Returns the registration of an object with these counters.
CountersetRegistration RegistrationOf(std::vector<uint32_t> types) {
  V1ObjectBytes object = {.name_index = 230, .has_instances = false};
  for (const uint32_t type : types) object.counters.push_back({.type = type});
  const std::string bytes = V1Data({}, {testing::MakeV1Object(object)});
  ParsedV1Data data;
  ReadV1Data(bytes, &data);
  return V1Registration(data, data.objects[0], Names(), V1Names()).value();
}

TEST(V1RegistrationTest, LinksBases) {
  for (const uint32_t type :
       {kPerfRawFraction, kPerfLargeRawFraction, kPerfSampleFraction,
        kPerfAverageTimer, kPerfAverageBulk, kPerfPrecisionSystemTimer,
        kPerfPrecision100NsTimer, kPerfPrecisionObjectTimer}) {
    const auto linked = RegistrationOf({type, kPerfLargeRawBase});
    EXPECT_EQ(linked.counters[0].base_counter_id, 1) << type;
    EXPECT_EQ(linked.counters[0].perf_time_id, kNoCounter) << type;
    EXPECT_THAT(linked.counters, SizeIs(2));
    // What follows is no base, or nothing follows.
    EXPECT_EQ(RegistrationOf({type, type}).counters[0].base_counter_id,
              kNoCounter);
    EXPECT_EQ(RegistrationOf({type}).counters[0].base_counter_id, kNoCounter);
  }
  const auto no_fraction =
      RegistrationOf({kPerfCounterBulkCount, kPerfLargeRawBase});
  EXPECT_EQ(no_fraction.counters[0].base_counter_id, kNoCounter);
}

TEST(V1RegistrationTest, LinksTheNumberOfInstances) {
  for (const uint32_t type :
       {kPerfCounterMultiTimer, kPerf100NsecMultiTimer,
        kPerfCounterMultiTimerInv, kPerf100NsecMultiTimerInv}) {
    for (const auto& types : std::vector<std::vector<uint32_t>>{
             {type}, {type, kPerfLargeRawBase}}) {
      const auto behind = RegistrationOf(types);
      EXPECT_EQ(behind.counters[0].multi_id, kV1SecondValue) << type;
      ASSERT_NE(behind.FindCounter(kV1SecondValue), nullptr);
      EXPECT_EQ(behind.FindCounter(kV1SecondValue)->type, kPerfCounterRawcount);
    }
    const auto base = RegistrationOf({type, kPerfCounterMultiBase});
    EXPECT_EQ(base.counters[0].multi_id, 1) << type;
    EXPECT_THAT(base.counters, SizeIs(2));
  }
  EXPECT_EQ(RegistrationOf({kPerfCounterTimer, kPerfCounterMultiBase})
                .counters[0]
                .multi_id,
            kNoCounter);
}

TEST(V1RegistrationTest, LinksTheObjectsClock) {
  for (const uint32_t type :
       {kPerfObjTimeTimer, kPerfCounterObjTimeQueuelenType, kPerfElapsedTime,
        kPerfPrecisionObjectTimer}) {
    const auto registration = RegistrationOf({type});
    EXPECT_EQ(registration.counters[0].perf_time_id, kV1ObjectTime) << type;
    EXPECT_EQ(registration.counters[0].perf_freq_id, kV1ObjectFreq) << type;
    EXPECT_NE(registration.FindCounter(kV1ObjectTime), nullptr);
    EXPECT_NE(registration.FindCounter(kV1ObjectFreq), nullptr);
  }
  for (const uint32_t type : {kPerfCounterTimer, kPerfPrecisionSystemTimer}) {
    const auto registration = RegistrationOf({type});
    EXPECT_EQ(registration.counters[0].perf_time_id, kNoCounter) << type;
    EXPECT_THAT(registration.counters, SizeIs(1));
  }
}

// A thread's id names it; its process' id does not.
TEST(V1ValuesTest, PreferIdThreadToIdProcess) {
  const V1Names names = V1Names::Read(
      V1NameTable({{232, "Thread"}, {784, "ID Process"}, {804, "ID Thread"}}));
  for (const bool thread_first : {false, true}) {
    V1ObjectBytes object = {
        .name_index = 232,
        .counters =
            {{.name_index = 784, .type = kPerfCounterRawcount, .size = 4},
             {.name_index = 804, .type = kPerfCounterRawcount, .size = 4}},
        .instances = {{.name = "0", .values = {10, 20}}}};
    if (thread_first) {
      std::swap(object.counters[0], object.counters[1]);
      object.instances[0].values = {20, 10};
    }
    const std::string bytes = V1Data({}, {testing::MakeV1Object(object)});
    ParsedV1Data data;
    ReadV1Data(bytes, &data);
    const auto registration =
        V1Registration(data, data.objects[0], names, V1Names()).value();
    EXPECT_EQ(V1Values(data, data.objects[0], registration)
                  .InstanceId(data.instances[0]),
              20);
  }
}

TEST(V1ShapeTest, MatchesOnlyTheSameCountersInTheSamePlaces) {
  const auto matches = [](const V1ObjectBytes& object) {
    ParsedV1Data first, second;
    const std::string first_bytes =
        V1Data({}, {testing::MakeV1Object(Process())});
    const std::string second_bytes =
        V1Data({}, {testing::MakeV1Object(object)});
    ReadV1Data(first_bytes, &first);
    ReadV1Data(second_bytes, &second);
    return V1ShapeOf(first, first.objects[0])
        .Matches(second, second.objects[0]);
  };
  EXPECT_TRUE(matches(Process()));
  V1ObjectBytes other = Process();
  other.instances.pop_back();
  other.perf_time = 99;
  EXPECT_TRUE(matches(other));

  other = Process();
  other.counters[0].type = kPerfCounterBulkCount;
  EXPECT_FALSE(matches(other));
  other = Process();  // an exchange of equal types
  other.counters[0].name_index = 7;
  EXPECT_FALSE(matches(other));
  other = Process();
  other.counters.push_back(other.counters[0]);
  EXPECT_FALSE(matches(other));
  other = Process();
  other.counters.pop_back();
  EXPECT_FALSE(matches(other));
  other = Process();
  other.has_instances = false;
  EXPECT_FALSE(matches(other));
  other = Process();
  other.name_index = 231;
  EXPECT_FALSE(matches(other));
}

TEST_F(V1CountersetTest, NeedsAnEnglishName) {
  EXPECT_THAT(
      V1Registration(data_, data_.objects[0], V1Names(), V1Names()),
      StatusIs(absl::StatusCode::kNotFound, "object 230 has no English name"));
}

// Calculated with Python's integers: FNV-1a of 128 bits, then version 8 and
// variant 10 of RFC 9562.
TEST(V1CountersetGuidTest, IsAHashOfTheName) {
  EXPECT_EQ(V1CountersetGuid("Memory").ToString(),
            "{2d4b7390-353f-879d-b4f7-65d4cab0707a}");
  EXPECT_EQ(V1CountersetGuid("memory").ToString(),
            "{2d4b7390-353f-879d-b4f7-65d4cab0707a}");
  EXPECT_EQ(V1CountersetGuid("Process").ToString(),
            "{2f99c0c3-1a66-8f0e-8730-d703083e8056}");
}

}  // namespace
}  // namespace fleetperf::perflib
