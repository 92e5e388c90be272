#include "aggregator/store/codec/number_codec.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::ElementsAreArray;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

std::string Encode(const std::vector<uint64_t>& numbers) {
  std::string bytes;
  EncodeChanges(numbers, &bytes);
  return bytes;
}

// Returns the numbers decoded from `bytes`, or none if `bytes` is invalid.
std::vector<uint64_t> Decode(const std::string& bytes, uint64_t first,
                             size_t count) {
  std::vector<uint64_t> numbers(count, 0xDEAD);
  numbers[0] = first;
  if (!DecodeChanges(bytes, absl::MakeSpan(numbers))) return {};
  return numbers;
}

void ExpectSame(const std::vector<uint64_t>& numbers) {
  const std::string bytes = Encode(numbers);
  EXPECT_THAT(Decode(bytes, numbers[0], numbers.size()),
              ElementsAreArray(numbers));
  // Every byte is needed, and no additional byte is accepted.
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint64_t> decoded =
        Decode(bytes.substr(0, size), numbers[0], numbers.size());
    EXPECT_NE(decoded, numbers) << size << " of " << bytes.size();
  }
  EXPECT_THAT(Decode(bytes + '\0', numbers[0], numbers.size()),
              ::testing::IsEmpty());
}

TEST(NumberCodecTest, RoundTripsExtremes) {
  ExpectSame({0});
  ExpectSame({kMax});
  ExpectSame({7, 7, 7, 7});
  ExpectSame({0, kMax});
  ExpectSame({kMax, 0});
  ExpectSame({0, kMax, 0, kMax, 0});
  ExpectSame({1, 0});
  ExpectSame(
      {uint64_t{1} << 63, 0, uint64_t{1} << 63, (uint64_t{1} << 63) - 1});
  ExpectSame({5, 4, 3, 2, 1, 0, kMax, kMax - 1});
  ExpectSame({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, kMax});
}

// Sequences of all shapes and lengths, with numbers of all sizes.
class NumberCodecShapeTest : public ::testing::TestWithParam<int> {
 protected:
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  uint64_t Bits(int bits) { return bits == 0 ? 0 : random_() >> (64 - bits); }

  std::vector<uint64_t> Make(size_t count, int bits) {
    std::vector<uint64_t> numbers = {Bits(bits)};
    uint64_t difference = Bits(bits);
    while (numbers.size() < count) {
      const uint64_t last = numbers.back();
      switch (GetParam()) {
        case 0:  // changes rarely, upwards
          numbers.push_back(Below(20) == 0 ? last + Bits(bits) : last);
          break;
        case 1:  // changes rarely, in both directions
          numbers.push_back(Below(5) == 0 ? last + Bits(bits) - Bits(bits)
                                          : last);
          break;
        case 2:  // noise
          numbers.push_back(Bits(bits));
          break;
        case 3:  // grows by nearly constant amounts
          numbers.push_back(last + difference + Bits(bits / 2));
          break;
        case 4:  // grows by a constant amount that rarely changes
          if (Below(50) == 0) difference = Bits(bits);
          numbers.push_back(last + difference);
          break;
        case 5:  // differences of very different sizes
          numbers.push_back(last + Bits(static_cast<int>(Below(
                                       static_cast<uint64_t>(bits) + 1))));
          break;
        default:  // a parabola
          difference += 3;
          numbers.push_back(last + difference);
          break;
      }
    }
    return numbers;
  }

  std::mt19937_64 random_{1};
};

TEST_P(NumberCodecShapeTest, RoundTripsEveryShape) {
  for (const size_t count : {2, 3, 4, 5, 17, 127, 128, 129, 130, 300}) {
    for (int bits = 0; bits <= 64; bits += 4) {
      SCOPED_TRACE(::testing::Message() << count << " of " << bits << " bits");
      ExpectSame(Make(count, bits));
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NumberCodecShapeTest, ::testing::Range(0, 7));

TEST(NumberCodecTest, EncodesConstantSequencesAsNothing) {
  EXPECT_EQ(Encode(std::vector<uint64_t>(3600, 12345)), "");
}

// An hour in which a number changes twice takes only a few bytes per change.
TEST(NumberCodecTest, EncodesRareChangesInFewBytes) {
  std::vector<uint64_t> numbers(3600, 500);
  for (size_t i = 1200; i < numbers.size(); ++i) numbers[i] = 503;
  for (size_t i = 3000; i < numbers.size(); ++i) numbers[i] = 502;
  EXPECT_LE(Encode(numbers).size(), 9);
}

// Random increments below 2^20 take 20 bits each, one byte per block of 128,
// and a few bytes for the header.
TEST(NumberCodecTest, EncodesNoiseWithoutOverhead) {
  std::mt19937_64 random(2);
  std::vector<uint64_t> numbers = {uint64_t{1} << 40};
  while (numbers.size() < 3601) {
    numbers.push_back(numbers.back() + random() % (1 << 20));
  }
  EXPECT_LE(Encode(numbers).size(), 3600 * 20 / 8 + 29 + 6);
}

TEST(NumberCodecTest, RejectsInvalidBytes) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes(1 + random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    std::vector<uint64_t> numbers(1 + random() % 300);
    // Must not read past the end.
    DecodeChanges(bytes, absl::MakeSpan(numbers));
  }
  EXPECT_THAT(Decode("\x03", 0, 5), ::testing::IsEmpty());
  EXPECT_THAT(Decode("\xE1", 0, 5), ::testing::IsEmpty());
  EXPECT_THAT(Decode(std::string("\x01\x00\x41", 3), 0, 2),
              ::testing::IsEmpty());
  EXPECT_THAT(Decode(std::string(1, '\1'), 0, 1), ::testing::IsEmpty());
}

TEST(NumberCodecTest, ConcatenatesLists) {
  std::string bytes;
  PutNumbers({}, &bytes);
  PutNumbers({3, 1, 4, 1, 5}, &bytes);
  PutNumbers({9}, &bytes);
  absl::string_view rest = bytes;
  std::vector<uint64_t> numbers;
  ASSERT_TRUE(GetNumbers(&rest, 0, &numbers));
  EXPECT_THAT(numbers, ::testing::IsEmpty());
  ASSERT_TRUE(GetNumbers(&rest, 5, &numbers));
  EXPECT_THAT(numbers, ::testing::ElementsAre(3, 1, 4, 1, 5));
  ASSERT_TRUE(GetNumbers(&rest, 1, &numbers));
  EXPECT_THAT(numbers, ::testing::ElementsAre(9));
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(GetNumbers(&rest, 1, &numbers));
}

}  // namespace
}  // namespace fleetperf::aggregator
