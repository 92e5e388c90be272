#include "perflib/v1/counterset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "perflib/counter_type.h"
#include "tests/support/status_matchers.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::perflib {
namespace {

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
                                    {10, "Multi"}}))
      .value();
}

// An object whose types need everything that a formula can need.
V1ObjectBytes Process() {
  return {.name_index = 230,
          .counters =
              {{.name_index = 6, .type = kPerf100NsecTimer},
               {.name_index = 684, .type = kPerfElapsedTime},
               {.name_index = 208, .type = kPerfAverageTimer, .size = 4},
               {.name_index = 208, .type = kPerfAverageBase, .size = 4},
               {.name_index = 784, .type = kPerfCounterRawcount, .size = 4},
               {.name_index = 10, .type = kPerfCounterMultiTimer, .size = 12},
               {.name_index = 200,
                .type = kPerfPrecision100NsTimer,
                .help_index = 201,
                .scale = 99},
               {.name_index = 200, .type = kPerfLargeRawBase},
               {.name_index = 4711, .type = kPerfCounterBulkCount}},
          .instances = {{.name = "cmd",
                         .values = {11, 22, 33, 44, 4242, 55, 8, 66, 77, 88}},
                        {.name = "svc", .values = {1}, .unique_id = 5}},
          .perf_time = 1234,
          .perf_freq = 1000};
}

class V1CountersetTest : public ::testing::Test {
 protected:
  V1CountersetTest() : V1CountersetTest(Process()) {}
  explicit V1CountersetTest(const V1ObjectBytes& object)
      : bytes_(V1Data({}, {testing::MakeV1Object(object)})) {
    ReadV1Data(bytes_, &data_);
    const V1Names help =
        V1Names::Read(V1NameTable({{201, "The time of reads."}})).value();
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
  EXPECT_EQ(Counter(6).default_scale, 0);  // 99 is no scale
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
  EXPECT_TRUE(values.MatchesRegistration());
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

TEST_F(V1CountersetTest, NoticesOtherDefinitions) {
  V1ObjectBytes changed = Process();
  changed.counters[0].type = kPerfCounterBulkCount;
  V1ObjectBytes longer = Process();
  longer.counters.push_back(longer.counters[0]);
  V1ObjectBytes single = Process();
  single.has_instances = false;
  for (const V1ObjectBytes& other : {changed, longer, single}) {
    const std::string bytes = V1Data({}, {testing::MakeV1Object(other)});
    ParsedV1Data data;
    ReadV1Data(bytes, &data);
    EXPECT_FALSE(
        V1Values(data, data.objects[0], registration_).MatchesRegistration());
  }
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
