// The reader of PerfLib V1, over bytes that are built independently of it.

#include "perflib/v1/data_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "perflib/counter_type.h"
#include "perflib/utf16.h"
#include "tests/support/byte_builder.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::perflib {
namespace {

using testing::ByteBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeV1Object;
using ::testing::SizeIs;
using testing::Utf16;
using testing::V1Data;
using testing::V1ObjectBytes;
using testing::WithU32;

// Offsets in the data that V1Data makes, whose header has 104 bytes.
constexpr size_t kHeader = 104;
constexpr size_t kTotalByteLength = 20;
constexpr size_t kHeaderLength = 24;

ParsedV1Data Read(const std::string& bytes) {
  static auto* const kept = new std::vector<std::string>;
  kept->push_back(bytes);
  ParsedV1Data data;
  ReadV1Data(kept->back(), &data);
  return data;
}

std::vector<std::string> Defects(const ParsedV1Data& data) {
  std::vector<std::string> texts;
  for (const Defect& defect : data.defects) texts.push_back(defect.ToString());
  return texts;
}

std::vector<std::string> Names(const ParsedV1Data& data,
                               const perflib::V1Object& object) {
  std::vector<std::string> names;
  for (const V1Instance& instance : data.Instances(object)) {
    names.push_back(Utf8FromUtf16(data.Utf16FullName(object, instance)));
  }
  return names;
}

// Memory: no instances, a u32 and a u64.
V1ObjectBytes Memory() {
  return {
      .name_index = 4,
      .counters = {{.name_index = 24, .type = kPerfCounterRawcount, .size = 4},
                   {.name_index = 26,
                    .type = kPerfCounterLargeRawcount,
                    .help_index = 27,
                    .scale = -6}},
      .instances = {{.values = {7, 1ull << 40}}},
      .has_instances = false,
      .help_index = 5};
}

// PhysicalDisk: two disks and the total.
V1ObjectBytes Disks() {
  return {.name_index = 234,
          .counters = {{.name_index = 200, .type = kPerfCounterBulkCount}},
          .instances = {{.name = "0 C:", .values = {1000}},
                        {.name = "1 D:", .values = {2000}, .unique_id = 9},
                        {.name = "_Total", .values = {3000}}},
          .perf_time = 77,
          .perf_freq = 100};
}

TEST(V1DataReaderTest, ReadsHeaderAndClocks) {
  const ParsedV1Data data = Read(V1Data(
      {.perf_time = 123, .perf_freq = 10'000'000, .perf_time_100nsec = 456},
      {}));
  ASSERT_TRUE(data.has_header);
  EXPECT_EQ(data.clocks(), (Clocks{.perf_time_stamp = 123,
                                   .perf_time_100nsec = 456,
                                   .perf_freq = 10'000'000}));
  EXPECT_THAT(data.objects, IsEmpty());
  EXPECT_EQ(data.defect_count, 0);
  EXPECT_EQ(data.warning_count, 0);
}

TEST(V1DataReaderTest, ReadsObjectsWithAndWithoutInstances) {
  const ParsedV1Data data =
      Read(V1Data({}, {MakeV1Object(Memory()), MakeV1Object(Disks())}));
  EXPECT_THAT(Defects(data), IsEmpty());
  EXPECT_EQ(data.warning_count, 0);
  const auto* memory = data.FindObject(4);
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(memory->complete);
  EXPECT_FALSE(memory->HasInstances());
  const auto counters = data.Counters(*memory);
  ASSERT_THAT(counters, SizeIs(2));
  EXPECT_EQ(counters[1].counter_name_title_index, 26);
  EXPECT_EQ(counters[1].counter_help_title_index, 27);
  EXPECT_EQ(counters[1].default_scale, -6);
  ASSERT_THAT(data.Instances(*memory), SizeIs(1));
  const V1Instance& only = data.Instances(*memory)[0];
  EXPECT_EQ(data.ValueOf(only, counters[0]).value, 7);
  EXPECT_EQ(data.ValueOf(only, counters[0]).size, 4);
  EXPECT_EQ(data.ValueOf(only, counters[1]).value, 1ull << 40);
  EXPECT_EQ(data.ValueOf(only, counters[1]).size, 8);

  const auto* disks = data.FindObject(234);
  ASSERT_NE(disks, nullptr);
  EXPECT_TRUE(disks->complete);
  EXPECT_EQ(disks->header.perf_time, 77);
  EXPECT_EQ(disks->header.perf_freq, 100);
  EXPECT_THAT(Names(data, *disks), ElementsAre("0 C:", "1 D:", "_Total"));
  const auto instances = data.Instances(*disks);
  EXPECT_EQ(instances[0].unique_id, kNoUniqueId);
  EXPECT_EQ(instances[1].unique_id, 9);
  EXPECT_EQ(data.ValueOf(instances[2], data.Counters(*disks)[0]).value, 3000);
  EXPECT_EQ(data.FindObject(5), nullptr);
}

TEST(V1DataReaderTest, ReadsObjectsThatHaveNoInstancesNow) {
  V1ObjectBytes disks = Disks();
  disks.instances.clear();
  const ParsedV1Data data = Read(V1Data({}, {MakeV1Object(disks)}));
  ASSERT_THAT(data.objects, SizeIs(1));
  EXPECT_TRUE(data.objects[0].complete);
  EXPECT_TRUE(data.objects[0].HasInstances());
  EXPECT_THAT(data.Instances(data.objects[0]), IsEmpty());
}

TEST(V1DataReaderTest, NamesInstancesWithTheirParents) {
  const V1ObjectBytes threads = {
      .name_index = 232,
      .counters = {{.name_index = 6, .type = kPerfCounterRawcount, .size = 4}},
      .instances = {
          {.name = "0", .parent_index = 234, .parent_position = 1},
          {.name = "1", .parent_index = 234, .parent_position = 3},    // ended
          {.name = "2", .parent_index = 230, .parent_position = 0}}};  // absent
  const ParsedV1Data data =
      Read(V1Data({}, {MakeV1Object(threads), MakeV1Object(Disks())}));
  EXPECT_THAT(Names(data, data.objects[0]), ElementsAre("1 D:/0", "1", "2"));
}

TEST(V1DataReaderTest, KeepsTwins) {
  V1ObjectBytes processes = Disks();
  processes.instances = {{.name = "cmd", .values = {1}},
                         {.name = "cmd", .values = {2}}};
  const ParsedV1Data data = Read(V1Data({}, {MakeV1Object(processes)}));
  EXPECT_THAT(Names(data, data.objects[0]), ElementsAre("cmd", "cmd"));
}

TEST(V1DataReaderTest, ConvertsNamesInCodePages) {
  V1ObjectBytes disks = Disks();
  disks.instances = {{.name = "\x80 gr\xF6\xDF", .values = {1}}};
  const auto name = [&](uint32_t code_page) {
    disks.code_page = code_page;
    const ParsedV1Data data = Read(V1Data({}, {MakeV1Object(disks)}));
    return Names(data, data.objects[0])[0];
  };
  EXPECT_EQ(name(1252), "€ größ");
  EXPECT_EQ(name(28591), "\xC2\x80 größ");
  EXPECT_EQ(name(932), "\xEF\xBF\xBD gr\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(V1DataReaderTest, ReadsTheSecondValueOfMultiTimers) {
  const V1ObjectBytes object = {.name_index = 4,
                                .counters = {{.name_index = 6,
                                              .type = kPerfCounterMultiTimer,
                                              .size = 12}},
                                .instances = {{.values = {5'000'000'000, 16}}},
                                .has_instances = false};
  const ParsedV1Data data = Read(V1Data({}, {MakeV1Object(object)}));
  const V1Instance& only = data.Instances(data.objects[0])[0];
  const PerfCounterDefinition& timer = data.Counters(data.objects[0])[0];
  EXPECT_EQ(data.ValueOf(only, timer).value, 5'000'000'000);
  EXPECT_EQ(data.SecondValueOf(only, timer).value, 16);
}

TEST(V1DataReaderTest, ValuesBeyondTheirBlockAreAbsent) {
  const ParsedV1Data data = Read(V1Data({}, {MakeV1Object(Memory())}));
  const V1Instance& only = data.Instances(data.objects[0])[0];
  const auto size = [&](uint32_t offset, uint32_t counter_size) {
    PerfCounterDefinition counter = {};
    counter.counter_offset = offset;
    counter.counter_size = counter_size;
    return data.ValueOf(only, counter).size;
  };
  // The block has 16 bytes: 4 for its size, 12 for values.
  EXPECT_EQ(only.block_size, 16);
  EXPECT_EQ(size(4, 4), 4);
  EXPECT_EQ(size(8, 8), 8);
  EXPECT_EQ(size(12, 4), 4);
  EXPECT_EQ(size(13, 4), 0);
  EXPECT_EQ(size(9, 8), 0);
  EXPECT_EQ(size(0, 4), 0);  // the block's own size
  EXPECT_EQ(size(16, 4), 0);
  EXPECT_EQ(size(0xFFFFFFFC, 8), 0);
  EXPECT_EQ(size(8, 0xFFFFFFFF), 0);
  EXPECT_EQ(size(4, 0), 0);
  EXPECT_EQ(size(4, 3), 0);
  PerfCounterDefinition counter = {};
  counter.counter_offset = 8;
  EXPECT_EQ(data.SecondValueOf(only, counter).size, 0);
  counter.counter_offset = 0xFFFFFFFF;
  EXPECT_EQ(data.SecondValueOf(only, counter).size, 0);
  counter.counter_offset = 4;
  EXPECT_EQ(data.SecondValueOf(only, counter).size, 4);
}

// One field of the header is wrong: nothing is read.
TEST(V1DataReaderTest, RejectsHeaders) {
  const std::string bytes = V1Data({}, {MakeV1Object(Memory())});
  const auto defect = [&](size_t offset, uint32_t value) {
    const ParsedV1Data data = Read(WithU32(bytes, offset, value));
    EXPECT_FALSE(data.has_header);
    EXPECT_THAT(data.objects, IsEmpty());
    return Defects(data).at(0);
  };
  EXPECT_THAT(defect(0, 0x51005100), HasSubstr("PERF_DATA_BLOCK.Signature"));
  EXPECT_THAT(defect(8, 0), HasSubstr("PERF_DATA_BLOCK.LittleEndian is 0"));
  EXPECT_EQ(defect(kTotalByteLength, 87),
            "offset 0: PERF_DATA_BLOCK.TotalByteLength is 87, it must be at "
            "least 88");
  EXPECT_THAT(defect(kTotalByteLength, 0x7FFFFFFF),
              HasSubstr("TotalByteLength is 2147483647, it must be at most"));
  EXPECT_THAT(defect(kHeaderLength, 87), HasSubstr("HeaderLength is 87"));
  EXPECT_THAT(defect(kHeaderLength, 0xFFFFFFFF), HasSubstr("HeaderLength"));
}

// One field of the first object is wrong. Whether the second is found depends
// on TotalByteLength alone.
TEST(V1DataReaderTest, RejectsObjects) {
  const std::string bytes =
      V1Data({}, {MakeV1Object(Disks()), MakeV1Object(Memory())});
  const auto read = [&](size_t field, uint32_t value) {
    return Read(WithU32(bytes, kHeader + field, value));
  };
  constexpr size_t kObjectTotal = 0, kDefinition = 4, kObjectHeader = 8;
  constexpr size_t kNumCounters = 32, kNumInstances = 40;
  for (const uint32_t value : {0u, 63u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    const ParsedV1Data data = read(kObjectTotal, value);
    EXPECT_THAT(Defects(data).at(0),
                HasSubstr("offset 104: PERF_OBJECT_TYPE.TotalByteLength"));
    EXPECT_EQ(data.FindObject(4), nullptr) << value;
  }
  for (const size_t field : {kDefinition, kObjectHeader}) {
    for (const uint32_t value : {0u, 63u, 0x10000u, 0xFFFFFFFFu}) {
      const ParsedV1Data data = read(field, value);
      EXPECT_EQ(data.defect_count, 1);
      EXPECT_EQ(data.FindObject(234), nullptr);
      EXPECT_NE(data.FindObject(4), nullptr);
    }
  }
  for (const uint32_t value : {2u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    const ParsedV1Data data = read(kNumCounters, value);
    EXPECT_THAT(Defects(data).at(0), HasSubstr("PERF_COUNTER_DEFINITION"));
    ASSERT_NE(data.FindObject(234), nullptr);
    EXPECT_FALSE(data.FindObject(234)->complete);
    EXPECT_THAT(data.Instances(*data.FindObject(234)), SizeIs(3));
    EXPECT_NE(data.FindObject(4), nullptr);
  }
  for (const uint32_t value : {4u, 0x7FFFFFFFu}) {
    const ParsedV1Data data = read(kNumInstances, value);
    EXPECT_THAT(Defects(data).at(0), HasSubstr("PERF_INSTANCE_DEFINITION"));
    ASSERT_NE(data.FindObject(234), nullptr);
    EXPECT_FALSE(data.FindObject(234)->complete);
    EXPECT_THAT(data.Instances(*data.FindObject(234)), SizeIs(3));
    EXPECT_NE(data.FindObject(4), nullptr);
  }
  const ParsedV1Data negative = read(kNumInstances, 0xFFFFFFFE);
  EXPECT_THAT(Defects(negative).at(0), HasSubstr("NumInstances"));
  EXPECT_EQ(negative.FindObject(234), nullptr);
}

TEST(V1DataReaderTest, RejectsInstances) {
  const std::string bytes =
      V1Data({}, {MakeV1Object(Disks()), MakeV1Object(Memory())});
  constexpr size_t kFirst = kHeader + 64 + 40;  // after one definition
  const auto defect = [&](size_t field, uint32_t value) {
    const ParsedV1Data data = Read(WithU32(bytes, kFirst + field, value));
    EXPECT_FALSE(data.FindObject(234)->complete);
    EXPECT_THAT(data.Instances(*data.FindObject(234)), IsEmpty());
    EXPECT_NE(data.FindObject(4), nullptr);
    return Defects(data).at(0);
  };
  EXPECT_THAT(defect(0, 23), HasSubstr("PERF_INSTANCE_DEFINITION.ByteLength"));
  EXPECT_THAT(defect(0, 0xFFFFFFFF), HasSubstr("ByteLength"));
  EXPECT_THAT(defect(16, 23), HasSubstr("NameOffset is 23"));
  EXPECT_THAT(defect(16, 0xFFFFFFFF), HasSubstr("NameOffset"));
  EXPECT_THAT(defect(20, 0xFFFFFFFF), HasSubstr("NameLength"));
  EXPECT_THAT(defect(20, 4), HasSubstr("no NUL"));
  // "0 C:" and its NUL have 10 bytes, padded to 16: the block is behind them.
  EXPECT_THAT(defect(40, 3), HasSubstr("PERF_COUNTER_BLOCK.ByteLength is 3"));
  EXPECT_THAT(defect(40, 0xFFFFFFFF), HasSubstr("PERF_COUNTER_BLOCK"));
}

// Cut anywhere, the data is refused as a whole: its own size is too large.
TEST(V1DataReaderTest, RejectsTruncatedData) {
  const std::string bytes =
      V1Data({}, {MakeV1Object(Disks()), MakeV1Object(Memory())});
  for (size_t size = 0; size < bytes.size(); ++size) {
    const ParsedV1Data data = Read(bytes.substr(0, size));
    EXPECT_FALSE(data.has_header) << size;
    EXPECT_EQ(data.defect_count, 1) << size;
  }
}

// Cut anywhere with a size that says so, the objects before the cut are read.
TEST(V1DataReaderTest, ReadsWhatIsBeforeACut) {
  const std::string bytes =
      V1Data({}, {MakeV1Object(Memory()), MakeV1Object(Disks())});
  const size_t second = kHeader + MakeV1Object(Memory()).size();
  for (size_t size = second; size < bytes.size(); ++size) {
    const ParsedV1Data data = Read(WithU32(
        bytes.substr(0, size), kTotalByteLength, static_cast<uint32_t>(size)));
    ASSERT_NE(data.FindObject(4), nullptr) << size;
    EXPECT_TRUE(data.FindObject(4)->complete);
    EXPECT_EQ(data.FindObject(234), nullptr) << size;
    EXPECT_EQ(data.defect_count, 1) << size;
  }
}

// Whatever one u32 says, memory stays a small multiple of the input, and what
// is parsed is inside it.
TEST(V1DataReaderTest, AnyFieldMayLie) {
  const std::string bytes =
      V1Data({}, {MakeV1Object(Disks()), MakeV1Object(Memory())});
  for (size_t offset = 0; offset + 4 <= bytes.size(); offset += 4) {
    for (const uint32_t value : {0u, 1u, 7u, 64u, 1000u, 0x7FFFFFFFu,
                                 0x80000000u, 0xFFFFFFF8u, 0xFFFFFFFFu}) {
      const ParsedV1Data data = Read(WithU32(bytes, offset, value));
      EXPECT_LE(data.counters.capacity() * sizeof(PerfCounterDefinition) +
                    data.instances.capacity() * sizeof(V1Instance),
                8 * bytes.size());
      for (const auto& object : data.objects) {
        Names(data, object);
        for (const V1Instance& instance : data.Instances(object)) {
          EXPECT_LE(instance.block_offset + instance.block_size, bytes.size());
          for (const auto& counter : data.Counters(object)) {
            data.ValueOf(instance, counter);
            data.SecondValueOf(instance, counter);
          }
        }
      }
    }
  }
}

// Wine 8.0 puts objects 88 bytes behind HeaderLength, and leaves them out of
// TotalByteLength.
TEST(V1DataReaderTest, RefusesWinesObjects) {
  const std::string sound = V1Data({}, {MakeV1Object(Memory())});
  std::string wine =
      sound.substr(0, kHeader) + std::string(88, '\0') + sound.substr(kHeader);
  const ParsedV1Data data = Read(wine);  // with the sizes of `sound`
  ASSERT_TRUE(data.has_header);
  EXPECT_THAT(data.objects, IsEmpty());
  EXPECT_THAT(Defects(data),
              ElementsAre("offset 104: PERF_OBJECT_TYPE.TotalByteLength is 0, "
                          "it must be at least 64"));
}

}  // namespace
}  // namespace fleetperf::perflib
