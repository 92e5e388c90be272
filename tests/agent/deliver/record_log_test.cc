#include "agent/deliver/spool/record_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fleetperf/v1/spool.pb.h"

namespace fleetperf::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using File = RecordReader::File;

constexpr size_t kHeader = 20;  // bytes
constexpr size_t kPayload = 4;

v1::SpoolRecord RecordOf(uint32_t process) {
  v1::SpoolRecord record;
  record.set_process(process);
  return record;
}

// A file with records of these numbers. Each body holds its number; each
// payload has four bytes.
std::string FileOf(const std::vector<uint32_t>& numbers) {
  std::string bytes;
  for (const uint32_t number : numbers) {
    AppendRecord(number, RecordOf(number), kPayload, &bytes);
    bytes.append(kPayload, '\xFF');
  }
  return bytes;
}

struct Contents {
  std::vector<uint32_t> records;  // the numbers in the bodies
  bool has_damage = false;
};

Contents Read(File file, const std::string& bytes) {
  Contents contents;
  RecordReader reader(file, bytes);
  while (const auto record = reader.Next()) {
    v1::SpoolRecord body;
    EXPECT_TRUE(body.ParseFromString(std::string(record->body)));
    contents.records.push_back(body.process());
    EXPECT_LE(record->payload_offset + kPayload, bytes.size());
  }
  contents.has_damage = reader.has_damage();
  return contents;
}

TEST(RecordLog, ReadsAppendedRecords) {
  const Contents contents = Read(File::kAppended, FileOf({1, 2, 3}));
  EXPECT_THAT(contents.records, ElementsAre(1, 2, 3));
  EXPECT_FALSE(contents.has_damage);
  EXPECT_THAT(Read(File::kAppended, "").records, IsEmpty());
}

TEST(RecordLog, CutOffRecordIsNotDamage) {
  const std::string two = FileOf({1, 2});
  const std::string three = FileOf({1, 2, 3});
  for (size_t size = two.size(); size < three.size(); ++size) {
    const Contents contents = Read(File::kAppended, three.substr(0, size));
    EXPECT_THAT(contents.records, ElementsAre(1, 2)) << size;
    EXPECT_FALSE(contents.has_damage) << size;
  }
}

TEST(RecordLog, TrailingZerosAreNotDamage) {
  for (const size_t zeros : {1, 19, 20, 21, 1000}) {
    const Contents contents =
        Read(File::kAppended, FileOf({1, 2}) + std::string(zeros, '\0'));
    EXPECT_THAT(contents.records, ElementsAre(1, 2)) << zeros;
    EXPECT_FALSE(contents.has_damage) << zeros;
  }
}

TEST(RecordLog, DetectsEachChangedByte) {
  const std::string sound = FileOf({1, 2, 3});
  const size_t record = sound.size() / 3;
  for (size_t offset = 0; offset < sound.size(); ++offset) {
    if (offset % record >= record - kPayload) continue;  // a payload
    std::string damaged = sound;
    damaged[offset] = static_cast<char>(damaged[offset] ^ (1 << offset % 8));
    std::vector<uint32_t> others = {1, 2, 3};
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(offset / record));
    const Contents contents = Read(File::kAppended, damaged);
    EXPECT_EQ(contents.records, others) << offset;
    EXPECT_TRUE(contents.has_damage) << offset;
  }
}

TEST(RecordLog, DetectsMissingRecord) {
  for (const auto& numbers :
       {std::vector<uint32_t>{2, 3}, std::vector<uint32_t>{1, 3}}) {
    const Contents contents = Read(File::kAppended, FileOf(numbers));
    EXPECT_EQ(contents.records, numbers);
    EXPECT_TRUE(contents.has_damage);
  }
}

TEST(RecordLog, ReadsNewestRecordsOfRewoundFile) {
  const std::string older = FileOf({1, 2, 3, 4});
  const std::string newer = FileOf({5, 6});
  const Contents whole =
      Read(File::kRewound, newer + older.substr(newer.size()));
  EXPECT_THAT(whole.records, ElementsAre(5, 6));
  EXPECT_FALSE(whole.has_damage);
  // A record cut off by older bytes, from its body on.
  const size_t record = newer.size() / 2;
  for (size_t size = record; size < newer.size() - kPayload; ++size) {
    const Contents contents =
        Read(File::kRewound, newer.substr(0, size) + older.substr(size));
    EXPECT_THAT(contents.records, ElementsAre(5)) << size;
    EXPECT_FALSE(contents.has_damage) << size;
  }
}

TEST(RecordLog, DetectsDamageBeforeNewestRecordOfRewoundFile) {
  std::string bytes = FileOf({5, 6, 7, 1});
  bytes[bytes.size() / 4 + kHeader] ^= 1;  // the second one's body
  const Contents contents = Read(File::kRewound, bytes);
  EXPECT_THAT(contents.records, ElementsAre(5, 7));
  EXPECT_TRUE(contents.has_damage);
}

}  // namespace
}  // namespace fleetperf::agent
