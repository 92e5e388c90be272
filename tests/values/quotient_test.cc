#include "values/quotient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/exact.h"

namespace fleetperf {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(QuotientOf, IsTheNearestDouble) {
  EXPECT_EQ(QuotientOf(0, 7), 0);
  EXPECT_EQ(QuotientOf(0, kMax), 0);
  EXPECT_EQ(QuotientOf(1, 3), 1.0 / 3.0);
  EXPECT_EQ(QuotientOf(kMax, 1), 0x1p64);
  EXPECT_EQ(QuotientOf(kMax, kMax), 1);
  EXPECT_EQ(QuotientOf(1, absl::uint128(1) << 100), 0x1p-100);
}

TEST(QuotientOf, RoundsTiesToEven) {
  constexpr uint64_t kBase = uint64_t{1} << 53;
  EXPECT_EQ(QuotientOf(kBase + 1, 1), 0x1p53);
  EXPECT_EQ(QuotientOf(kBase + 3, 1), 0x1p53 + 4);
  EXPECT_EQ(QuotientOf(2 * kBase + 3, 1), 0x1p54 + 4);
  // A rest of the division decides, however small it is.
  EXPECT_EQ(QuotientOf(absl::uint128(kBase + 1) * kMax + 1, kMax), 0x1p53 + 2);
  EXPECT_EQ(QuotientOf(absl::uint128(kBase + 1) * kMax, kMax), 0x1p53);
  EXPECT_EQ(QuotientOf(absl::uint128(kBase + 1) * kMax - 1, kMax), 0x1p53);
  const Product wide = Product(kMax) * kMax;
  EXPECT_EQ(QuotientOf(wide * (kBase + 1), wide), 0x1p53);
  EXPECT_EQ(QuotientOf(wide * (kBase + 3), wide), 0x1p53 + 4);
}

TEST(QuotientOf, RoundsUpToThePowerOfTwo) {
  EXPECT_EQ(QuotientOf(kMax - 1, kMax), 1);
  EXPECT_EQ(QuotientOf(absl::uint128(kMax) << 60, absl::uint128(1) << 60),
            0x1p64);
}

TEST(QuotientOf, OfRandomNumbersIsThatOfLongDivision) {
  std::mt19937_64 random(7);
  const auto number = [&] {
    return absl::MakeUint128(random(), random()) >> (2 + random() % 125);
  };
  for (int i = 0; i < 200'000; ++i) {
    const absl::uint128 n = number();
    const absl::uint128 d = std::max<absl::uint128>(number(), 1);
    ASSERT_EQ(QuotientOf(n, d), testing::Quotient(n, d)) << n << " / " << d;
  }
}

TEST(QuotientOf, OfProductsCancelsCommonFactors) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 50'000; ++i) {
    const absl::uint128 n = absl::MakeUint128(random() >> 40, random());
    const absl::uint128 d = absl::uint128(random()) + 1;
    const uint64_t factor = random() | 1;
    const uint64_t other = (random() >> (random() % 60)) | 1;
    const double expected = testing::Quotient(n, d);
    ASSERT_EQ(QuotientOf(Product(n) * factor, Product(d) * factor), expected);
    ASSERT_EQ(QuotientOf(Product(n) * factor * other * 3,
                         Product(d) * 3 * other * factor),
              expected)
        << other;
  }
}

TEST(PartOf, IsBetween0And1) {
  EXPECT_EQ(PartOf(0, 5), 0);
  EXPECT_EQ(PartOf(1, 3), 1.0 / 3.0);
  EXPECT_EQ(PartOf(7, 5), 1);
  EXPECT_EQ(PartOf(-7, 5), 0);
  EXPECT_EQ(PartOf(-7, 0), 0);
  EXPECT_EQ(PartOf(0, 0), 1);
  EXPECT_EQ(PartOf(INT64_MAX - 1, INT64_MAX), 1);
}

}  // namespace
}  // namespace fleetperf
