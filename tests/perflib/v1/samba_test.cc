// The data of a Samba server: see tests/fixtures/perflib-v1/README.md.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "perflib/counter_type.h"
#include "perflib/v1/counterset.h"
#include "perflib/v1/data_reader.h"
#include "perflib/v1/names.h"
#include "tests/support/byte_builder.h"

namespace fleetperf::perflib {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::SizeIs;

std::string SambaFile(const std::string& name) {
  std::ifstream file(FLEETPERF_V1_FIXTURES "/" + name, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::vector<std::string> SambaTexts(const std::vector<Defect>& defects) {
  std::vector<std::string> texts;
  for (const Defect& defect : defects) texts.push_back(defect.ToString());
  return texts;
}

std::vector<uint64_t> SambaValues(const ParsedV1Data& data,
                                  const V1Object& object,
                                  const V1Instance& instance) {
  std::vector<uint64_t> values;
  for (const PerfCounterDefinition& counter : data.Counters(object)) {
    values.push_back(data.ValueOf(instance, counter).value);
  }
  return values;
}

TEST(SambaTest, NamesAreRead) {
  const V1Names names = V1Names::Read(SambaFile("samba_counter_009.bin"));
  EXPECT_TRUE(names.status().ok());
  EXPECT_THAT(
      names.all(),
      ElementsAre(Pair(2, "Memory"), Pair(4, "Available KBytes"),
                  Pair(6, "Available Bytes"), Pair(8, "PhysicalDisk"),
                  Pair(10, "Disk Reads/sec"), Pair(12, "Disk Read Bytes/sec")));
}

TEST(SambaTest, HelpTextsAreRead) {
  const V1Names help = V1Names::Read(SambaFile("samba_help.bin"));
  EXPECT_TRUE(help.status().ok());
  EXPECT_THAT(help.all(), ElementsAre(Pair(3, "Help of Memory"),
                                      Pair(5, "Help of Available KBytes"),
                                      Pair(7, "Help of Available Bytes"),
                                      Pair(9, "Help of PhysicalDisk"),
                                      Pair(11, "Help of Disk Reads/sec"),
                                      Pair(13, "Help of Disk Read Bytes/sec")));
}

// Samba gives the PERF_COUNTER_RAWCOUNT a CounterSize of 8, which its type
// contradicts. Its TotalByteLength leaves out the header's 104 bytes, so the
// data ends inside PhysicalDisk, which is refused.
TEST(SambaTest, TheObjectInsideTheSizeIsRead) {
  const std::string bytes = SambaFile("samba_2.bin");
  ParsedV1Data data;
  ReadV1Data(bytes, &data);
  ASSERT_TRUE(data.has_header);
  EXPECT_EQ(data.clocks(), (Clocks{.perf_time_stamp = 987'654'321,
                                   .perf_time_100nsec = 133'500'000'000'000'000,
                                   .perf_freq = 1'000'000}));
  EXPECT_THAT(SambaTexts(data.defects),
              ElementsAre("offset 272: PERF_OBJECT_TYPE.TotalByteLength is "
                          "288, it must be at most 184"));
  EXPECT_THAT(SambaTexts(data.warnings),
              ElementsAre("offset 168: PERF_COUNTER_DEFINITION.CounterSize is "
                          "8, but the type says 4"));
  ASSERT_THAT(data.objects, SizeIs(1));
  const V1Object& memory = data.objects[0];
  EXPECT_EQ(memory.header.object_name_title_index, 2);
  EXPECT_TRUE(memory.complete);
  EXPECT_THAT(SambaValues(data, memory, data.Instances(memory)[0]),
              ElementsAre(4711, 123'456'789'012));
}

// With the header in its size, PhysicalDisk is sound by its sizes. But Samba
// says that its values are 8 bytes at 8 and at 16 of the counter block, and
// packs them as a u32 at 8 and a u64 at 12: of "0 C:", 11 and 1100; of
// "_Total", 22 and 2200. So the first value read has the low half of the second
// in its high half, and the second value is its high half and four bytes of
// stale memory, ".tdb". Nothing but the warning of the first size tells.
TEST(SambaTest, TheRestIsReadAsItsDefinitionsSay) {
  std::string bytes = SambaFile("samba_2.bin");
  bytes = testing::WithU32(bytes, 20, static_cast<uint32_t>(bytes.size()));
  ParsedV1Data data;
  ReadV1Data(bytes, &data);
  EXPECT_EQ(data.defect_count, 0);
  EXPECT_THAT(SambaTexts(data.warnings),
              ElementsAre("offset 168: PERF_COUNTER_DEFINITION.CounterSize is "
                          "8, but the type says 4",
                          "offset 336: PERF_COUNTER_DEFINITION.CounterSize is "
                          "8, but the type says 4"));
  const V1Object* disk = data.FindObject(8);
  ASSERT_NE(disk, nullptr);
  const auto registration = V1Registration(
      data, *disk, V1Names::Read(SambaFile("samba_counter_009.bin")),
      V1Names::Read(SambaFile("samba_help.bin")));
  ASSERT_TRUE(registration.ok());
  EXPECT_EQ(registration->name, "PhysicalDisk");
  EXPECT_EQ(registration->help, "Help of PhysicalDisk");
  ASSERT_THAT(registration->counters, SizeIs(2));
  EXPECT_EQ(registration->counters[0].name, "Disk Reads/sec");
  EXPECT_EQ(registration->counters[1].help, "Help of Disk Read Bytes/sec");
  const auto instances = data.Instances(*disk);
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(data.Utf16FullName(*disk, instances[0]), testing::Utf16("0 C:"));
  EXPECT_EQ(data.Utf16FullName(*disk, instances[1]), testing::Utf16("_Total"));
  constexpr uint64_t kStale = 0x6264742Eull << 32;  // ".tdb"
  EXPECT_THAT(SambaValues(data, *disk, instances[0]),
              ElementsAre(1100ull << 32 | 11, kStale));
  EXPECT_THAT(SambaValues(data, *disk, instances[1]),
              ElementsAre(2200ull << 32 | 22, kStale));
}

}  // namespace
}  // namespace fleetperf::perflib
