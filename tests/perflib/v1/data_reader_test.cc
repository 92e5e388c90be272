// The reader of PerfLib V1, over bytes that are built independently of it.

#include "perflib/v1/data_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "perflib/counter_type.h"
#include "perflib/utf16.h"
#include "tests/support/byte_builder.h"
#include "tests/support/v1_bytes.h"

namespace fleetperf::perflib {
namespace {

using testing::ByteBuilder;
using ::testing::Each;
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
constexpr size_t kNumObjectTypes = 28;

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

std::vector<std::string> Warnings(const ParsedV1Data& data) {
  std::vector<std::string> texts;
  for (const Defect& warning : data.warnings) {
    texts.push_back(warning.ToString());
  }
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

// The child's and the parent's name may be in different code pages, and an
// object without instances is no parent.
TEST(V1DataReaderTest, NamesParentsAsTheirObjectDoes) {
  V1ObjectBytes parents = Disks();
  parents.instances = {{.name = "\x80"}};
  parents.code_page = 1252;
  const V1ObjectBytes children = {
      .name_index = 236,
      .instances = {{.name = "\u20AC", .parent_index = 234},
                    {.name = "x", .parent_index = 4}}};
  const ParsedV1Data data =
      Read(V1Data({}, {MakeV1Object(children), MakeV1Object(parents),
                       MakeV1Object(Memory())}));
  EXPECT_THAT(Names(data, data.objects[0]), ElementsAre("\u20AC/\u20AC", "x"));
}

TEST(V1DataReaderTest, OfEqualObjectsTheFirstCounts) {
  V1ObjectBytes second = Disks();
  second.instances = {{.name = "second"}};
  const V1ObjectBytes children = {
      .name_index = 236, .instances = {{.name = "child", .parent_index = 234}}};
  const ParsedV1Data data =
      Read(V1Data({}, {MakeV1Object(children), MakeV1Object(Disks()),
                       MakeV1Object(second)}));
  EXPECT_EQ(data.FindObject(234), &data.objects[1]);
  EXPECT_THAT(Names(data, data.objects[0]), ElementsAre("0 C:/child"));
}

// Looking through all objects for each child would take minutes.
TEST(V1DataReaderTest, FindsParentsAmongManyObjects) {
  constexpr uint32_t kMany = 100'000;
  V1ObjectBytes children = {.name_index = 236};
  children.instances.assign(kMany, {.name = "x", .parent_index = 234});
  std::string others;
  const std::string other = MakeV1Object({.name_index = 2});
  for (uint32_t i = 0; i < kMany; ++i) others += other;
  std::string bytes =
      V1Data({}, {others, MakeV1Object(children), MakeV1Object(Disks())});
  bytes = WithU32(bytes, kNumObjectTypes, kMany + 2);
  const ParsedV1Data data = Read(bytes);
  EXPECT_THAT(Defects(data), IsEmpty());
  const std::vector<std::string> names = Names(data, *data.FindObject(236));
  EXPECT_THAT(names, SizeIs(kMany));
  EXPECT_THAT(names, Each("0 C:/x"));
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
  // Distinct bytes stay distinct where the page is not known, or wrong.
  EXPECT_EQ(name(932), "\xC2\x80 größ");
  EXPECT_EQ(name(65001), "\xC2\x80 größ");
  disks.instances[0].name = "€ größ \U0001F4BE";
  EXPECT_EQ(name(65001), "€ größ \U0001F4BE");
}

// Unicode's published table of Windows-1252 (cp1252.txt), and the bytes that it
// leaves out.
TEST(V1DataReaderTest, ConvertsWindows1252) {
  V1ObjectBytes disks = Disks();
  disks.code_page = 1252;
  const std::pair<const char*, const char*> kCases[] = {
      {"\x7F", "\u007F"},   {"\x80", "\u20AC"},   {"\x82", "\u201A"},
      {"\x83", "\u0192"},   {"\x84", "\u201E"},   {"\x85", "\u2026"},
      {"\x86", "\u2020"},   {"\x87", "\u2021"},   {"\x88", "\u02C6"},
      {"\x89", "\u2030"},   {"\x8A", "\u0160"},   {"\x8B", "\u2039"},
      {"\x8C", "\u0152"},   {"\x8E", "\u017D"},   {"\x91", "\u2018"},
      {"\x92", "\u2019"},   {"\x93", "\u201C"},   {"\x94", "\u201D"},
      {"\x95", "\u2022"},   {"\x96", "\u2013"},   {"\x97", "\u2014"},
      {"\x98", "\u02DC"},   {"\x99", "\u2122"},   {"\x9A", "\u0161"},
      {"\x9B", "\u203A"},   {"\x9C", "\u0153"},   {"\x9E", "\u017E"},
      {"\x9F", "\u0178"},   {"\xA0", "\u00A0"},   {"\xFF", "\u00FF"},
      {"\x81", "\xC2\x81"}, {"\x8D", "\xC2\x8D"}, {"\x8F", "\xC2\x8F"},
      {"\x90", "\xC2\x90"}, {"\x9D", "\xC2\x9D"}};
  std::vector<std::string> expected;
  disks.instances.clear();
  for (const auto& [byte, text] : kCases) {
    disks.instances.push_back({.name = byte});
    expected.push_back(text);
  }
  const ParsedV1Data data = Read(V1Data({}, {MakeV1Object(disks)}));
  EXPECT_EQ(Names(data, data.objects[0]), expected);
  EXPECT_EQ(data.warning_count, 0);
}

TEST(V1DataReaderTest, LimitsTheLengthOfNames) {
  V1ObjectBytes disks = Disks();
  disks.code_page = 1252;
  disks.instances[1].name = std::string(4095, 'x');
  EXPECT_EQ(Read(V1Data({}, {MakeV1Object(disks)})).defect_count, 0);
  disks.instances[1].name += 'x';
  const ParsedV1Data data = Read(V1Data({}, {MakeV1Object(disks)}));
  EXPECT_THAT(Defects(data),
              ElementsAre("offset 256: PERF_INSTANCE_DEFINITION.NameLength is "
                          "4097, it must be at most 4096"));
  EXPECT_THAT(Names(data, data.objects[0]), ElementsAre("0 C:", "", "_Total"));
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
  const auto size = [&](uint32_t offset, uint32_t counter_size,
                        uint32_t type = kPerfCounterRawcount) {
    PerfCounterDefinition counter = {};
    counter.counter_type = type;
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
  // Only multi timers have 12 bytes.
  EXPECT_EQ(size(4, 12), 0);
  EXPECT_EQ(size(4, 12, kPerfAverageBulk), 0);
  for (const uint32_t type :
       {kPerfCounterMultiTimer, kPerf100NsecMultiTimer,
        kPerfCounterMultiTimerInv, kPerf100NsecMultiTimerInv}) {
    EXPECT_EQ(size(4, 12, type), 8);
    EXPECT_EQ(size(4, 11, type), 0);
    EXPECT_EQ(size(5, 12, type), 0);
  }
  PerfCounterDefinition counter = {};
  counter.counter_offset = 8;
  EXPECT_EQ(data.SecondValueOf(only, counter).size, 0);
  counter.counter_offset = 0xFFFFFFFF;
  EXPECT_EQ(data.SecondValueOf(only, counter).size, 0);
  for (const uint32_t inside_the_size : {0, 3}) {
    counter.counter_offset = inside_the_size;
    EXPECT_EQ(data.SecondValueOf(only, counter).size, 0);
  }
  counter.counter_offset = 4;
  EXPECT_EQ(data.SecondValueOf(only, counter).size, 4);
}

// A definition reaches out of the counter block: the others are read, but the
// object is not complete. The blocks of Disks have 16 bytes, of which 12 are
// used.
TEST(V1DataReaderTest, RejectsValuesOutsideTheirBlocks) {
  const std::string bytes =
      V1Data({}, {MakeV1Object(Disks()), MakeV1Object(Memory())});
  constexpr size_t kDefinition = kHeader + 64;
  constexpr size_t kSize = kDefinition + 32, kOffset = kDefinition + 36;
  const struct {
    size_t field;
    uint32_t value;
    const char* defect;
  } kCases[] = {
      {kOffset, 0, "Offset is 0, it must be at least 4"},
      {kOffset, 3, "Offset is 3, it must be at least 4"},
      {kOffset, 9, "Size is 8, it must be at most 7"},
      {kOffset, 16, "Size is 8, it must be at most 0"},
      {kOffset, 17, "Offset is 17, it must be at most 16"},
      {kOffset, 0xFFFFFFFF, "Offset is 4294967295, it must be at most 16"},
      {kSize, 13, "Size is 13, it must be at most 12"},
      {kSize, 0xFFFFFFFF, "Size is 4294967295, it must be at most 12"},
  };
  for (const auto& test : kCases) {
    const ParsedV1Data data = Read(WithU32(bytes, test.field, test.value));
    EXPECT_THAT(
        Defects(data),
        ElementsAre(absl::StrCat("offset 168: PERF_COUNTER_DEFINITION.Counter",
                                 test.defect)));
    EXPECT_FALSE(data.FindObject(234)->complete);
    EXPECT_THAT(data.Instances(*data.FindObject(234)), SizeIs(3));
    EXPECT_TRUE(data.FindObject(4)->complete);
  }
  for (const uint32_t offset : {4, 8}) {
    EXPECT_EQ(Read(WithU32(bytes, kOffset, offset)).defect_count, 0) << offset;
  }
  // PERF_COUNTER_NODATA has no place.
  const std::string no_data = WithU32(bytes, kSize, 0);
  for (const uint32_t offset : {0u, 0xFFFFFFFFu}) {
    EXPECT_EQ(Read(WithU32(no_data, kOffset, offset)).defect_count, 0);
  }
}

// The smallest block counts, wherever it is; so does the farthest definition.
TEST(V1DataReaderTest, ComparesDefinitionsWithEveryBlock) {
  const std::string memory = V1Data({}, {MakeV1Object(Memory())});
  constexpr size_t kFirstOffset = kHeader + 64 + 36;
  EXPECT_THAT(
      Defects(Read(WithU32(memory, kFirstOffset, 13))),
      ElementsAre("offset 168: PERF_COUNTER_DEFINITION.CounterSize is 4, it "
                  "must be at most 3"));
  // After a definition, a disk is 40 bytes and 16 of values, of which 8 go.
  const std::string disks = V1Data({}, {MakeV1Object(Disks())});
  const auto total = static_cast<uint32_t>(disks.size() - 8);
  for (const size_t block : {40, 96, 152}) {
    std::string bytes = WithU32(disks, kHeader + 104 + block, 8);
    bytes.erase(kHeader + 104 + block + 8, 8);
    bytes = WithU32(bytes, kTotalByteLength, total);
    bytes = WithU32(bytes, kHeader, total - kHeader);
    EXPECT_THAT(Defects(Read(bytes)),
                ElementsAre("offset 168: PERF_COUNTER_DEFINITION.CounterSize "
                            "is 8, it must be at most 4"))
        << block;
  }
}

TEST(V1DataReaderTest, ReplacesEarlierData) {
  const std::string first =
      V1Data({}, {MakeV1Object(Memory()), MakeV1Object(Disks())});
  const std::string second = V1Data({}, {MakeV1Object(Disks())});
  ParsedV1Data data;
  ReadV1Data(first, &data);
  ReadV1Data(second, &data);
  EXPECT_EQ(data.FindObject(4), nullptr);
  EXPECT_EQ(data.FindObject(234), &data.objects[0]);
  EXPECT_THAT(data.instances, SizeIs(3));
}

// A size that the type contradicts is used as it is.
TEST(V1DataReaderTest, WarnsOfSizesThatContradictTheType) {
  const auto warnings = [](uint32_t type, uint32_t size) {
    const ParsedV1Data data = Read(
        V1Data({}, {MakeV1Object({.name_index = 4,
                                  .counters = {{.type = type, .size = size}},
                                  .instances = {{.values = {7, 8}}},
                                  .has_instances = false})}));
    EXPECT_TRUE(data.objects[0].complete);
    return Warnings(data);
  };
  const std::string start =
      "offset 168: PERF_COUNTER_DEFINITION.CounterSize is ";
  EXPECT_THAT(warnings(kPerfCounterCounter, 4), IsEmpty());
  EXPECT_THAT(warnings(kPerfCounterCounter, 8),
              ElementsAre(start + "8, but the type says 4"));
  // Documented both ways.
  EXPECT_THAT(warnings(kPerfAverageTimer, 4), IsEmpty());
  EXPECT_THAT(warnings(kPerfAverageTimer, 8),
              ElementsAre(start + "8, but the type says 4"));
  EXPECT_THAT(warnings(kPerfCounterBulkCount, 8), IsEmpty());
  EXPECT_THAT(warnings(kPerfCounterBulkCount, 4),
              ElementsAre(start + "4, but the type says 8"));
  EXPECT_THAT(warnings(kPerfCounterBulkCount, 12),
              ElementsAre(start + "12, but the type says 8"));
  EXPECT_THAT(warnings(kPerfCounterMultiTimer, 8), IsEmpty());
  EXPECT_THAT(warnings(kPerfCounterMultiTimer, 12), IsEmpty());
  EXPECT_THAT(warnings(kPerfCounterMultiTimer, 4),
              ElementsAre(start + "4, but the type says 8"));
  EXPECT_THAT(warnings(kPerfCounterNodata, 0), IsEmpty());
  EXPECT_THAT(warnings(kPerfCounterNodata, 4),
              ElementsAre(start + "4, but the type says 0"));
  EXPECT_THAT(warnings(kPerfCounterText, 0), IsEmpty());
  EXPECT_THAT(warnings(kPerfCounterText, 12), IsEmpty());
}

TEST(V1DataReaderTest, WarnsOfCodePagesThatItDoesNotKnow) {
  V1ObjectBytes disks = Disks();
  const auto warnings = [&](uint32_t code_page) {
    disks.code_page = code_page;
    return Warnings(Read(V1Data({}, {MakeV1Object(disks)})));
  };
  for (const uint32_t known : {0, 1252, 28591, 65001}) {
    EXPECT_THAT(warnings(known), IsEmpty()) << known;
  }
  EXPECT_THAT(warnings(932),
              ElementsAre("offset 104: PERF_OBJECT_TYPE.CodePage is 932, which "
                          "is unknown"));
  disks.instances.clear();
  EXPECT_THAT(warnings(932), IsEmpty());
}

TEST(V1DataReaderTest, WarnsOfUnusedBytes) {
  const std::string object = MakeV1Object(Disks());
  // Seven bytes may be padding.
  for (const size_t extra : {7, 8}) {
    const std::string rest(extra, '\0');
    const auto size = static_cast<uint32_t>(object.size() + extra);
    // Behind the last instance.
    const ParsedV1Data instances =
        Read(V1Data({}, {WithU32(object + rest, 0, size)}));
    // Between the definitions and the instances.
    std::string spread = object;
    spread.insert(104, rest);
    const ParsedV1Data definitions =
        Read(V1Data({}, {WithU32(WithU32(spread, 0, size), 4,
                                 static_cast<uint32_t>(104 + extra))}));
    // Behind the last object.
    const ParsedV1Data objects =
        Read(WithU32(V1Data({}, {object + rest}), kHeader,
                     static_cast<uint32_t>(object.size())));
    for (const ParsedV1Data* data : {&instances, &definitions, &objects}) {
      EXPECT_EQ(data->defect_count, 0);
      EXPECT_THAT(Names(*data, data->objects[0]), SizeIs(3));
    }
    EXPECT_THAT(
        Warnings(objects),
        ElementsAre(absl::StrCat("offset 0: PERF_DATA_BLOCK.TotalByteLength "
                                 "leaves ",
                                 extra, " bytes unused")));
    if (extra == 7) {
      const std::string unaligned =
          "offset 104: PERF_OBJECT_TYPE.TotalByteLength is 279, which is no "
          "multiple of 8";
      EXPECT_THAT(Warnings(instances), ElementsAre(unaligned));
      EXPECT_THAT(Warnings(definitions), ElementsAre(unaligned));
    } else {
      EXPECT_THAT(Warnings(instances),
                  ElementsAre("offset 104: PERF_OBJECT_TYPE.TotalByteLength "
                              "leaves 8 bytes unused"));
      EXPECT_THAT(Warnings(definitions),
                  ElementsAre("offset 104: PERF_OBJECT_TYPE.DefinitionLength "
                              "leaves 8 bytes unused"));
    }
  }
}

TEST(V1DataReaderTest, ListsTheFirstDefectsAndWarningsAndCountsAll) {
  V1ObjectBytes object = {.name_index = 4, .has_instances = false};
  object.counters.assign(20, {.type = kPerfCounterRawcount, .size = 8});
  std::string bytes = V1Data({}, {MakeV1Object(object)});
  for (size_t i = 0; i < 20; ++i) {
    bytes = WithU32(bytes, kHeader + 64 + 40 * i + 36, 0);
  }
  const ParsedV1Data data = Read(bytes);
  EXPECT_EQ(data.defect_count, 20);
  EXPECT_THAT(data.defects, SizeIs(16));
  EXPECT_EQ(data.warning_count, 20);
  EXPECT_THAT(data.warnings, SizeIs(16));
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
    EXPECT_THAT(
        Defects(data),
        ElementsAre(absl::StrCat("offset 104: PERF_OBJECT_TYPE.NumCounters is ",
                                 value, ", it must be at most 1")));
    ASSERT_NE(data.FindObject(234), nullptr);
    EXPECT_FALSE(data.FindObject(234)->complete);
    EXPECT_THAT(data.Instances(*data.FindObject(234)), SizeIs(3));
    EXPECT_NE(data.FindObject(4), nullptr);
  }
  // 168 bytes have room for 6 instances without names and values.
  for (const uint32_t value : {4u, 7u, 0x7FFFFFFFu}) {
    const ParsedV1Data data = read(kNumInstances, value);
    if (value > 6) {
      EXPECT_EQ(Defects(data).at(0),
                absl::StrCat("offset 104: PERF_OBJECT_TYPE.NumInstances is ",
                             value, ", it must be at most 6"));
    }
    EXPECT_EQ(Defects(data).back(),
              "offset 376: PERF_INSTANCE_DEFINITION needs 24 bytes, 0 remain");
    ASSERT_NE(data.FindObject(234), nullptr);
    EXPECT_FALSE(data.FindObject(234)->complete);
    EXPECT_THAT(data.Instances(*data.FindObject(234)), SizeIs(3));
    EXPECT_NE(data.FindObject(4), nullptr);
  }
  const ParsedV1Data negative = read(kNumInstances, 0xFFFFFFFE);
  EXPECT_THAT(Defects(negative),
              ElementsAre("offset 104: PERF_OBJECT_TYPE.NumInstances is -2, it "
                          "must be at least -1"));
  EXPECT_EQ(negative.FindObject(234), nullptr);
  EXPECT_NE(negative.FindObject(4), nullptr);
}

TEST(V1DataReaderTest, RejectsMoreObjectsThanTheDataCanHold) {
  const std::string bytes = V1Data(
      {}, {MakeV1Object({.name_index = 4}), MakeV1Object({.name_index = 6})});
  for (const uint32_t value : {3u, 0xFFFFFFFFu}) {
    const ParsedV1Data data = Read(WithU32(bytes, kNumObjectTypes, value));
    EXPECT_THAT(
        Defects(data),
        ElementsAre(absl::StrCat("offset 0: PERF_DATA_BLOCK.NumObjectTypes is ",
                                 value, ", it must be at most 2")));
    EXPECT_THAT(data.objects, SizeIs(2));
    EXPECT_TRUE(data.objects[1].complete);
  }
}

TEST(V1DataReaderTest, RejectsInstances) {
  const std::string bytes =
      V1Data({}, {MakeV1Object(Disks()), MakeV1Object(Memory())});
  constexpr size_t kFirst = kHeader + 64 + 40;  // after one definition
  const auto defect = [&](size_t field, uint32_t value) {
    const ParsedV1Data data = Read(WithU32(bytes, kFirst + field, value));
    EXPECT_FALSE(data.FindObject(234)->complete);
    EXPECT_NE(data.FindObject(4), nullptr);
    // A wrong name leaves the next place certain; other sizes do not.
    const bool is_name = field == 16 || field == 20;
    EXPECT_THAT(data.Instances(*data.FindObject(234)), SizeIs(is_name ? 3 : 0));
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

// An instance with a wrong name keeps its position, so that children of the
// next find their parent.
TEST(V1DataReaderTest, InstancesWithWrongNamesKeepTheirPositions) {
  const V1ObjectBytes children = {
      .name_index = 236,
      .instances = {{.name = "0", .parent_index = 234, .parent_position = 0},
                    {.name = "1", .parent_index = 234, .parent_position = 1}}};
  const std::string bytes =
      V1Data({}, {MakeV1Object(Disks()), MakeV1Object(children)});
  constexpr size_t kNameLength = kHeader + 64 + 40 + 20;
  const ParsedV1Data data = Read(WithU32(bytes, kNameLength, 0xFFFFFFFF));
  EXPECT_EQ(data.defect_count, 1);
  EXPECT_THAT(Names(data, data.objects[0]), ElementsAre("", "1 D:", "_Total"));
  const auto disks = data.Instances(data.objects[0]);
  const PerfCounterDefinition& counter = data.Counters(data.objects[0])[0];
  EXPECT_FALSE(disks[0].is_sound());
  EXPECT_EQ(data.ValueOf(disks[0], counter).size, 0);
  EXPECT_TRUE(disks[1].is_sound());
  EXPECT_EQ(data.ValueOf(disks[1], counter).value, 2000);
  EXPECT_FALSE(data.objects[0].complete);
  EXPECT_THAT(Names(data, data.objects[1]), ElementsAre("0", "1 D:/1"));
  EXPECT_TRUE(data.objects[1].complete);
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

}  // namespace
}  // namespace fleetperf::perflib
