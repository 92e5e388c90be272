#include "aggregator/samples/wire_reader.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/coded_stream.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fleetperf/v1/collection.pb.h"

namespace fleetperf::aggregator {
namespace {

using google::protobuf::io::CodedOutputStream;
using ::testing::ElementsAre;

std::string Varint(uint64_t number) {
  uint8_t bytes[10];
  uint8_t* const end = CodedOutputStream::WriteVarint64ToArray(number, bytes);
  return std::string(bytes, end);
}

// Returns the smallest and largest number of each length, and some in between.
std::vector<uint64_t> NumbersOfAllLengths() {
  std::vector<uint64_t> numbers = {0, UINT64_MAX, 0x0123456789ABCDEF};
  for (int bits = 7; bits < 64; bits += 7) {
    const uint64_t longer = uint64_t{1} << bits;
    numbers.insert(numbers.end(), {longer - 1, longer, longer + 1, longer * 3});
  }
  return numbers;
}

TEST(VarintReader, ReadsNumbersOfAllLengths) {
  // Concatenated, so that some are followed by many bytes and some by none.
  for (const uint64_t first : NumbersOfAllLengths()) {
    for (const uint64_t second : NumbersOfAllLengths()) {
      const std::string bytes = Varint(first) + Varint(second);
      VarintReader reader(bytes);
      EXPECT_EQ(reader.Next(), first);
      EXPECT_FALSE(reader.has_read_all());
      EXPECT_EQ(reader.Next(), second);
      EXPECT_TRUE(reader.has_read_all());
      EXPECT_EQ(CountVarints(bytes), 2);
    }
  }
}

TEST(VarintReader, DoesNotReadPastTheEnd) {
  for (const uint64_t number : NumbersOfAllLengths()) {
    const std::string whole = Varint(number);
    // Allocated with the exact size, so that AddressSanitizer detects
    // overreads.
    const std::vector<char> cut(whole.begin(), whole.end() - 1);
    VarintReader reader({cut.data(), cut.size()});
    EXPECT_EQ(reader.Next(), 0);
    EXPECT_FALSE(reader.ok());
    EXPECT_FALSE(reader.has_read_all());
    EXPECT_EQ(reader.left(), 0);
    EXPECT_EQ(reader.Next(), 0);
  }
}

TEST(VarintReader, RejectsVarintsOfMoreThanTenBytes) {
  VarintReader reader("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
  EXPECT_EQ(reader.Next(), 0);
  EXPECT_FALSE(reader.ok());
}

TEST(VarintReader, SkipsAvailableBytes) {
  VarintReader reader("\x05hello\x07");
  EXPECT_EQ(reader.Skip(reader.Next()), "hello");
  EXPECT_EQ(reader.Next(), 7);
  EXPECT_EQ(reader.Skip(1), "");
  EXPECT_FALSE(reader.ok());
}

// Returns the readable fields: "1=150", "2=[bytes]".
std::vector<std::string> Fields(const std::string& message, bool* ok) {
  std::vector<std::string> fields;
  FieldReader reader(message);
  while (reader.Next()) {
    fields.push_back(std::to_string(reader.field()));
    if (reader.field() % 2 == 1) {
      fields.back() += "=" + std::to_string(reader.Varint());
    } else {
      fields.back() += "=[" + std::string(reader.Bytes()) + "]";
    }
  }
  *ok = reader.ok();
  return fields;
}

TEST(FieldReader, ReadsProtobufOutput) {
  bool ok;
  v1::MachineDefinition machine;
  machine.set_id(150);
  machine.set_name("web-1");
  EXPECT_THAT(Fields(machine.SerializeAsString(), &ok),
              ElementsAre("1=150", "2=[web-1]"));
  EXPECT_TRUE(ok);
}

TEST(FieldReader, SkipsUnrequestedFields) {
  // Field 6 of each wire type that proto3 has, then field 1 = 5.
  for (const std::string& other :
       {std::string("\x30\x96\x01"), std::string("\x31") + "12345678",
        std::string("\x32\x02hi"), std::string("\x35") + "1234"}) {
    const std::string message = other + "\x08\x05";
    FieldReader reader(message);
    EXPECT_TRUE(reader.Next());
    EXPECT_EQ(reader.field(), 6);
    EXPECT_TRUE(reader.Next());
    EXPECT_EQ(reader.Varint(), 5);
    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.ok());
  }
}

TEST(FieldReader, RejectsInvalidMessages) {
  const std::string kWrong[] = {
      "\x08",          // a tag without its value
      "\x12\x05 cut",  // shorter than it says
      "\x31 cut",
      "\x35",             // the same with a fixed size
      std::string(2, 0),  // field 0
      "\x0B\x0C",         // a group, which proto3 does not have
      "\x0E",
      "\x0F",                          // wire types that do not exist
      "\x0A\x01x",                     // bytes where a number is requested
      "\x10\x01",                      // a number where bytes are requested
      "\x88\x80\x80\x80\x80\x01\x05",  // a field number of more than 29 bits
  };
  for (const std::string& message : kWrong) {
    bool ok;
    Fields(message, &ok);
    EXPECT_FALSE(ok) << ::testing::PrintToString(message);
  }
}

TEST(FieldReader, RejectsSplitPackedFields) {
  const std::string message = "\x0A\x02\x01\x02\x0A\x01\x03";
  FieldReader reader(message);
  absl::string_view numbers;
  EXPECT_TRUE(reader.Next());
  reader.TakePacked(&numbers);
  EXPECT_EQ(numbers, "\x01\x02");
  EXPECT_TRUE(reader.Next());
  reader.TakePacked(&numbers);
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace fleetperf::aggregator
