// The data of a Samba server: see tests/fixtures/perflib-v1/README.md.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "perflib/counter_type.h"
#include "perflib/v1/counterset.h"
#include "perflib/v1/data_reader.h"
#include "perflib/v1/names.h"
#include "tests/support/byte_builder.h"

namespace fleetperf::perflib {
namespace {

using ::testing::SizeIs;

std::string Fixture(const std::string& name) {
  std::ifstream file(FLEETPERF_V1_FIXTURES "/" + name, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST(SambaTest, NamesAreRead) {
  const auto names = V1Names::Read(Fixture("samba_counter_009.bin"));
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(names->all(), SizeIs(6));
  EXPECT_EQ(names->Find(2), "Memory");
  EXPECT_EQ(names->Find(4), "Available KBytes");
  EXPECT_EQ(names->Find(12), "Disk Read Bytes/sec");
}

// The size without the header ends inside PhysicalDisk, which is refused.
TEST(SambaTest, TheObjectInsideTheSizeIsRead) {
  const std::string bytes = Fixture("samba_2.bin");
  ParsedV1Data data;
  ReadV1Data(bytes, &data);
  ASSERT_TRUE(data.has_header);
  EXPECT_EQ(data.clocks(), (Clocks{.perf_time_stamp = 987'654'321,
                                   .perf_time_100nsec = 133'500'000'000'000'000,
                                   .perf_freq = 1'000'000}));
  ASSERT_EQ(data.defect_count, 1);
  EXPECT_EQ(data.defects[0].ToString(),
            "offset 272: PERF_OBJECT_TYPE.TotalByteLength is 288, it must be "
            "at most 184");
  ASSERT_THAT(data.objects, SizeIs(1));
  const V1Object& memory = data.objects[0];
  EXPECT_EQ(memory.header.object_name_title_index, 2);
  EXPECT_TRUE(memory.complete);
  const V1Instance& only = data.Instances(memory)[0];
  EXPECT_EQ(data.ValueOf(only, data.Counters(memory)[0]).value, 4711);
  EXPECT_EQ(data.ValueOf(only, data.Counters(memory)[1]).value,
            123'456'789'012);
}

// With the header in its size, all of it is sound.
TEST(SambaTest, TheRestIsSound) {
  std::string bytes = Fixture("samba_2.bin");
  bytes = testing::WithU32(bytes, 20, static_cast<uint32_t>(bytes.size()));
  ParsedV1Data data;
  ReadV1Data(bytes, &data);
  EXPECT_EQ(data.defect_count, 0);
  const V1Object* disk = data.FindObject(8);
  ASSERT_NE(disk, nullptr);
  const auto names = V1Names::Read(Fixture("samba_counter_009.bin"));
  const auto registration = V1Registration(data, *disk, *names, V1Names());
  ASSERT_TRUE(registration.ok());
  EXPECT_EQ(registration->name, "PhysicalDisk");
  ASSERT_THAT(registration->counters, SizeIs(2));
  EXPECT_EQ(registration->counters[0].name, "Disk Reads/sec");
  ASSERT_THAT(data.Instances(*disk), SizeIs(2));
  EXPECT_EQ(data.Utf16FullName(*disk, data.Instances(*disk)[1]),
            testing::Utf16("_Total"));
}

}  // namespace
}  // namespace fleetperf::perflib
