#include "driver/perf_event/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/driver/perf_event/memory_ring.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perf_event {
namespace {

using ::fleetperf::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> ReadAll(Ring* ring) {
  std::vector<std::string> records;
  while (const auto record = ring->Next()) {
    records.emplace_back(record->bytes());
  }
  return records;
}

TEST(RingTest, ReturnsRecordsInTheOrderOfWriting) {
  MemoryRing memory(4096);
  memory.Append(Filled(24, 'a'));
  memory.Append(Filled(16, 'b'));
  Ring ring(memory.memory());
  EXPECT_THAT(ReadAll(&ring), ElementsAre(Filled(24, 'a'), Filled(16, 'b')));
  EXPECT_OK(ring.status());
  EXPECT_EQ(memory.page.data_tail, 40u);

  memory.Append(Filled(32, 'c'));
  EXPECT_THAT(ReadAll(&ring), ElementsAre(Filled(32, 'c')));
}

// The size of a record is that of its header and body.
TEST(RingTest, RecordsHaveTheirTypeAndTotalSize) {
  MemoryRing memory(4096);
  memory.Append(RecordOf(9, 0x4002, std::string(40, 'x')));
  Ring ring(memory.memory());
  const auto record = ring.Next();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->type(), RecordType::kSample);
  EXPECT_EQ(record->misc(), misc::kUser | misc::kExactIp);
  EXPECT_EQ(record->size(), 48u);
  EXPECT_EQ(record->bytes().size(), 48u);
  EXPECT_EQ(record->body(), std::string(40, 'x'));
}

TEST(RingTest, JoinsARecordThatContinuesAtTheStart) {
  for (const uint64_t before : {8, 16, 56}) {
    MemoryRing memory(256, 256 - before);
    std::string body;
    for (char c = '0'; c < '0' + 56; ++c) body += c;
    memory.Append(RecordOf(1000, 0, body));
    memory.Append(Filled(16, 'z'));
    Ring ring(memory.memory());
    EXPECT_THAT(ReadAll(&ring),
                ElementsAre(RecordOf(1000, 0, body), Filled(16, 'z')))
        << before << " bytes before the end";
  }
}

TEST(RingTest, ARecordThatEndsWithTheRingIsNotCopied) {
  MemoryRing memory(256, 192);
  memory.Append(Filled(64, 'a'));
  memory.Append(Filled(64, 'b'));
  Ring ring(memory.memory());
  const auto first = ring.Next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->bytes().data(), memory.memory().data.data() + 192);
  EXPECT_EQ(first->bytes(), Filled(64, 'a'));
  const auto second = ring.Next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->bytes().data(), memory.memory().data.data());
  EXPECT_EQ(second->bytes(), Filled(64, 'b'));
}

TEST(RingTest, ReadsRecordsLargerThanHalfOfTheRing) {
  MemoryRing memory(256);
  Ring ring(memory.memory());
  for (char c = 'a'; c < 'k'; ++c) {
    memory.Append(Filled(200, c));
    EXPECT_THAT(ReadAll(&ring), ElementsAre(Filled(200, c)));
  }
  memory.Append(Filled(256, 'x'));
  EXPECT_THAT(ReadAll(&ring), ElementsAre(Filled(256, 'x')));
}

TEST(RingTest, PositionsOverflow) {
  MemoryRing memory(256, uint64_t{0} - 32);
  memory.Append(Filled(48, 'a'));
  memory.Append(Filled(24, 'b'));
  Ring ring(memory.memory());
  EXPECT_THAT(ReadAll(&ring), ElementsAre(Filled(48, 'a'), Filled(24, 'b')));
  EXPECT_EQ(memory.page.data_tail, 40u);
}

TEST(RingTest, ARecordIsReleasedByTheNextCall) {
  MemoryRing memory(4096);
  memory.Append(Filled(24, 'a'));
  memory.Append(Filled(16, 'b'));
  Ring ring(memory.memory());
  ASSERT_TRUE(ring.Next());
  EXPECT_EQ(memory.page.data_tail, 0u);
  EXPECT_EQ(ring.unread(), 40u);
  ASSERT_TRUE(ring.Next());
  EXPECT_EQ(memory.page.data_tail, 24u);
  ring.Release();
  EXPECT_EQ(memory.page.data_tail, 40u);
  EXPECT_EQ(ring.unread(), 0u);
}

TEST(RingTest, ARecordThatIsNotReleasedCanBeReadAgain) {
  MemoryRing memory(4096);
  memory.Append(Filled(24, 'a'));
  memory.Append(Filled(16, 'b'));
  Ring ring(memory.memory());
  ASSERT_TRUE(ring.Next());
  ring.Rewind();
  EXPECT_EQ(ring.Next()->bytes(), Filled(24, 'a'));
  Ring other(memory.memory());
  EXPECT_THAT(ReadAll(&other), ElementsAre(Filled(24, 'a'), Filled(16, 'b')));
}

// Damage. Each ring continues with what is written later.

void ExpectDamage(MemoryRing* memory, absl::string_view why) {
  Ring ring(memory->memory());
  EXPECT_THAT(ReadAll(&ring), IsEmpty());
  EXPECT_THAT(ring.status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(why)));
  memory->page.data_head = (memory->page.data_head + 7) / 8 * 8;
  Ring later(memory->memory());
  ReadAll(&later);
  memory->Append(Filled(16, 'z'));
  EXPECT_THAT(ReadAll(&later), ElementsAre(Filled(16, 'z')));
  EXPECT_OK(later.status());
}

TEST(RingTest, RejectsASizeOfZero) {
  MemoryRing memory(256);
  memory.Append(std::string(16, '\0'));
  ExpectDamage(&memory, "16 bytes are dropped");
}

TEST(RingTest, RejectsASizeBelowThatOfTheHeader) {
  MemoryRing memory(256);
  memory.Append(ByteBuilder().U32(9).U16(0).U16(7).U64(0).Build());
  ExpectDamage(&memory, "wrong size");
}

TEST(RingTest, RejectsASizeThatIsNoMultipleOf8) {
  MemoryRing memory(256);
  memory.Append(ByteBuilder().U32(9).U16(0).U16(12).U64(0).Build());
  ExpectDamage(&memory, "wrong size");
}

TEST(RingTest, RejectsASizeBeyondWhatWasWritten) {
  MemoryRing memory(256);
  memory.Append(ByteBuilder().U32(9).U16(0).U16(24).U64(0).Build());
  ExpectDamage(&memory, "wrong size");
  memory.Append(ByteBuilder().U32(9).U16(0).U16(0xFFF8).U64(0).Build());
  ExpectDamage(&memory, "wrong size");
}

TEST(RingTest, RejectsAHeadBehindTheTail) {
  MemoryRing memory(256, 64);
  memory.page.data_head = 32;
  ExpectDamage(&memory, "positions");
}

TEST(RingTest, RejectsAHeadTooFarAhead) {
  MemoryRing memory(256);
  memory.page.data_head = 264;
  ExpectDamage(&memory, "264 bytes are dropped");
}

TEST(RingTest, RejectsUnalignedPositions) {
  MemoryRing memory(256);
  memory.Append(Filled(16, 'a'));
  memory.page.data_tail = 4;
  ExpectDamage(&memory, "positions");
  memory.page.data_head += 4;
  ExpectDamage(&memory, "4 bytes are dropped");
}

TEST(RingTest, ReturnsWhatIsBeforeTheDamage) {
  MemoryRing memory(256);
  memory.Append(Filled(16, 'a'));
  memory.Append(std::string(8, '\0'));
  memory.Append(Filled(16, 'b'));
  Ring ring(memory.memory());
  EXPECT_THAT(ReadAll(&ring), ElementsAre(Filled(16, 'a')));
  EXPECT_THAT(ring.status(), StatusIs(absl::StatusCode::kDataLoss,
                                      HasSubstr("24 bytes are dropped")));
  EXPECT_FALSE(ring.Next());
  EXPECT_OK(ring.status());
}

// Where the ring is.

struct FakeMapping {
  FakeMapping(uint64_t offset, uint64_t size) {
    auto* const page = reinterpret_cast<MmapPage*>(bytes);
    page->data_offset = offset;
    page->data_size = size;
  }
  absl::StatusOr<RingMemory> Find() {
    return RingMemory::Find(bytes, sizeof(bytes), 4096);
  }

  alignas(8) char bytes[3 * 4096] = {};
};

TEST(RingMemoryTest, IsWhereThePageSays) {
  FakeMapping mapping(4096, 8192);
  ASSERT_OK_AND_ASSIGN(const RingMemory ring, mapping.Find());
  EXPECT_EQ(ring.data.data(), mapping.bytes + 4096);
  EXPECT_EQ(ring.data.size(), 8192u);
}

// Linux before 4.1.
TEST(RingMemoryTest, IsBehindThePageIfThePageDoesNotSay) {
  FakeMapping mapping(0, 0);
  ASSERT_OK_AND_ASSIGN(const RingMemory ring, mapping.Find());
  EXPECT_EQ(ring.data.data(), mapping.bytes + 4096);
  EXPECT_EQ(ring.data.size(), 8192u);
}

TEST(RingMemoryTest, RejectsPlacesOutsideOfTheMapping) {
  const std::pair<uint64_t, uint64_t> places[] = {
      {0, 8192},    {4096, 16384},
      {8192, 8192}, {4096, 12288},
      {12288, 8},   {uint64_t{0} - 4096, 8192},
      {4096, 0},    {4096, uint64_t{1} << 63},
      {4100, 4096}, {4096, 4}};
  for (const auto& [offset, size] : places) {
    FakeMapping mapping(offset, size);
    EXPECT_THAT(mapping.Find(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cannot hold")))
        << offset << " " << size;
  }
}

// Rings that are written backward.

std::vector<std::string> ReadSince(BackwardRing* ring) {
  ring->Start();
  std::vector<std::string> records;
  while (const auto record = ring->Next()) {
    records.emplace_back(record->bytes());
  }
  return records;
}

TEST(BackwardRingTest, ReturnsTheNewestFirst) {
  MemoryRing memory(256);
  BackwardRing ring(memory.memory());
  EXPECT_THAT(ReadSince(&ring), IsEmpty());
  memory.Prepend(Filled(24, 'a'));
  memory.Prepend(Filled(16, 'b'));
  EXPECT_THAT(ReadSince(&ring), ElementsAre(Filled(16, 'b'), Filled(24, 'a')));
  EXPECT_THAT(ReadSince(&ring), IsEmpty());
  memory.Prepend(Filled(32, 'c'));
  EXPECT_THAT(ReadSince(&ring), ElementsAre(Filled(32, 'c')));
  EXPECT_OK(ring.status());
}

TEST(BackwardRingTest, OmitsTheOldestRecordIfItIsOverwrittenInPart) {
  MemoryRing memory(256);
  BackwardRing ring(memory.memory());
  for (char c = 'a'; c < 'h'; ++c) memory.Prepend(Filled(48, c));
  // 256 bytes hold five records of 48, and 16 bytes of the sixth.
  EXPECT_THAT(ReadSince(&ring),
              ElementsAre(Filled(48, 'g'), Filled(48, 'f'), Filled(48, 'e'),
                          Filled(48, 'd'), Filled(48, 'c')));
  EXPECT_OK(ring.status());
}

TEST(BackwardRingTest, ReturnsAllRecordsIfTheyFillTheRingExactly) {
  MemoryRing memory(256);
  BackwardRing ring(memory.memory());
  for (char c = 'a'; c < 'g'; ++c) memory.Prepend(Filled(64, c));
  EXPECT_THAT(ReadSince(&ring), ElementsAre(Filled(64, 'f'), Filled(64, 'e'),
                                            Filled(64, 'd'), Filled(64, 'c')));
  EXPECT_OK(ring.status());
}

TEST(BackwardRingTest, RejectsDamage) {
  MemoryRing memory(256);
  BackwardRing ring(memory.memory());
  memory.Prepend(std::string(16, '\0'));
  memory.Prepend(Filled(16, 'a'));
  EXPECT_THAT(ReadSince(&ring), ElementsAre(Filled(16, 'a')));
  EXPECT_THAT(ring.status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("wrong size")));
  // Larger than what was ever written.
  memory.Prepend(ByteBuilder().U32(9).U16(0).U16(64).Build());
  EXPECT_THAT(ReadSince(&ring), IsEmpty());
  EXPECT_THAT(ring.status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("wrong size")));
  memory.page.data_head -= 4;
  EXPECT_THAT(ReadSince(&ring), IsEmpty());
  EXPECT_THAT(ring.status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("position")));
}

// The AUX area.

TEST(AuxRingTest, ReturnsWhatIsNotReleased) {
  const std::string area = "0123456789abcdef";
  MmapPage page = {};
  AuxRing ring(&page, {area.data(), area.size()});
  page.aux_head = 10;
  ASSERT_OK_AND_ASSIGN(AuxBytes bytes, ring.Read());
  EXPECT_EQ(bytes.first, "0123456789");
  EXPECT_EQ(bytes.second, "");
  ring.Release(4);
  EXPECT_EQ(page.aux_tail, 4u);

  page.aux_head = 19;
  ASSERT_OK_AND_ASSIGN(bytes, ring.Read());
  EXPECT_EQ(bytes.first, "456789abcdef");
  EXPECT_EQ(bytes.second, "012");
  ring.Release(1000);
  EXPECT_EQ(page.aux_tail, 19u);
  ASSERT_OK_AND_ASSIGN(bytes, ring.Read());
  EXPECT_EQ(bytes.size(), 0u);
}

TEST(AuxRingTest, ReturnsWhatARecordAnnounces) {
  const std::string area = "0123456789abcdef";
  MmapPage page = {};
  const AuxRing ring(&page, {area.data(), area.size()});
  const AuxBytes bytes = ring.At(16 + 14, 4);
  EXPECT_EQ(bytes.first, "ef");
  EXPECT_EQ(bytes.second, "01");
  EXPECT_EQ(ring.At(0, ~uint64_t{0}).size(), 16u);
}

TEST(AuxRingTest, RejectsPositionsThatCannotBe) {
  const std::string area = "0123456789abcdef";
  MmapPage page = {};
  AuxRing ring(&page, {area.data(), area.size()});
  page.aux_head = 17;
  EXPECT_THAT(ring.Read(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("17")));
  page.aux_head = 20;
  ASSERT_OK_AND_ASSIGN(const AuxBytes bytes, ring.Read());
  EXPECT_EQ(bytes.first, "123");
}

}  // namespace
}  // namespace fleetperf::perf_event
