// The data of Wine 8.0, which breaks the format: see WineV1Data.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "perflib/counter_type.h"
#include "perflib/v1/data_reader.h"
#include "perflib/v1/names.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::perflib {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::WineV1Data;

std::string WineObject() {
  return testing::MakeV1Object(
      {.name_index = 4,
       .counters = {{.name_index = 24, .type = kPerfCounterBulkCount}},
       .instances = {{.values = {7}}},
       .has_instances = false});
}

TEST(WineTest, DataWithoutProvidersIsEmpty) {
  const std::string bytes = WineV1Data({}, 0);
  ASSERT_THAT(bytes, SizeIs(96));
  ParsedV1Data data;
  ReadV1Data(bytes, &data);
  EXPECT_TRUE(data.has_header);
  EXPECT_EQ(data.header.header_length, 96);
  EXPECT_THAT(data.objects, IsEmpty());
  EXPECT_EQ(data.defect_count, 0);
  EXPECT_EQ(data.warning_count, 0);
}

// The header names the place of the first object, where there is none.
TEST(WineTest, ObjectsAreRefused) {
  const std::string object = WineObject();
  ASSERT_THAT(object, SizeIs(120));
  const struct {
    char gap;
    const char* defect;
  } kCases[] = {
      {0,
       "offset 96: PERF_OBJECT_TYPE.TotalByteLength is 0, it must be at least "
       "64"},
      {0x2E,
       "offset 96: PERF_OBJECT_TYPE.TotalByteLength is 774778414, it must be "
       "at most 120"},
  };
  for (const auto& test : kCases) {
    const std::string bytes = WineV1Data({object}, test.gap);
    ASSERT_THAT(bytes, SizeIs(184 + object.size()));
    ASSERT_EQ(bytes.substr(184), object);
    ParsedV1Data data;
    ReadV1Data(bytes, &data);
    ASSERT_TRUE(data.has_header);
    EXPECT_EQ(data.header.header_length, 96);
    EXPECT_EQ(data.header.total_byte_length, bytes.size() - 88);
    EXPECT_THAT(data.objects, IsEmpty());
    EXPECT_EQ(data.defect_count, 1);
    EXPECT_EQ(data.defects[0].ToString(), test.defect);
  }
}

TEST(WineTest, NamesAreRead) {
  const V1Names names = V1Names::Read(testing::WineV1NameTable());
  EXPECT_TRUE(names.status().ok());
  EXPECT_THAT(names.all(), ElementsAre(Pair(1846, "End Marker")));
}

}  // namespace
}  // namespace fleetperf::perflib
