#include "values/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "absl/numeric/int128.h"
#include "tests/support/exact.h"

namespace fleetperf {
namespace {

ExactSum SumOf(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.Add(value);
  return sum;
}

TEST(ExactSum, EndsNearTheLargestDouble) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  for (const double other : {1.0, -1.0}) {
    const double quotient = SumOf({kLargest, other}).DividedBy(3);
    EXPECT_NEAR(quotient / (kLargest / 3), 1, 1e-15);
    ExactSum sum = SumOf({kLargest, other});
    for (int i = 0; i < 100'000; ++i) sum.Add(kLargest);
    EXPECT_FALSE(std::isfinite(sum.Total()));
    EXPECT_FALSE(std::isfinite(sum.DividedBy(3)));
  }
}

TEST(ExactSum, OfEqualValuesHasTheirValueAsMean) {
  std::mt19937_64 random(18);
  std::uniform_real_distribution<double> mantissa(1, 2);
  for (int i = 0; i < 300; ++i) {
    const double value =
        std::ldexp(mantissa(random), static_cast<int>(random() % 200) - 100) *
        (random() % 2 == 0 ? 1 : -1);
    const uint64_t count = i < 3 ? 100'000 : 1 + random() % 500;
    ExactSum sum, products, weights;
    for (uint64_t k = 0; k < count; ++k) {
      const double weight =
          std::ldexp(mantissa(random), -static_cast<int>(random() % 30));
      sum.Add(value);
      products.AddProduct(value, weight);
      weights.Add(weight);
    }
    ASSERT_EQ(sum.DividedBy(static_cast<double>(count)), value) << count;
    ASSERT_EQ(products.DividedBy(weights), value) << count;
  }
}

TEST(ExactSum, IsRoundedOnce) {
  EXPECT_EQ(ExactSum().Total(), 0);
  EXPECT_EQ(SumOf(std::vector<double>(1000, 0.1)).Total(), 100);
  EXPECT_EQ(SumOf({1e100, 1.0, -1e100}).Total(), 1);
  EXPECT_EQ(SumOf({1e16, 1, 1}).Total(), 1e16 + 2);
  EXPECT_EQ(SumOf({5, -5}).Total(), 0);
}

TEST(ExactSum, RoundsTiesToEvenUnlessASmallerPartDecides) {
  EXPECT_EQ(SumOf({0x1p53, 1}).Total(), 0x1p53);
  EXPECT_EQ(SumOf({0x1p53, 1, 0x1p-60}).Total(), 0x1p53 + 2);
  EXPECT_EQ(SumOf({0x1p53, 1, -0x1p-60}).Total(), 0x1p53);
  EXPECT_EQ(SumOf({0x1p53 + 2, 1}).Total(), 0x1p53 + 4);
  EXPECT_EQ(SumOf({0x1p53 + 2, 1, -0x1p-60}).Total(), 0x1p53 + 2);
  EXPECT_EQ(SumOf({-0x1p53, -1, -0x1p-60}).Total(), -0x1p53 - 2);
}

TEST(ExactSum, DoesNotDependOnTheOrder) {
  std::mt19937_64 random(19);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> values(2 + random() % 30);
    for (double& value : values) {
      value = std::ldexp(static_cast<double>(static_cast<int64_t>(random())),
                         static_cast<int>(random() % 300) - 150);
    }
    const ExactSum sum = SumOf(values);
    const double total = sum.Total();
    const double third = sum.DividedBy(3);
    const std::array<double, 3> split = sum.Split();
    for (int k = 0; k < 5; ++k) {
      std::shuffle(values.begin(), values.end(), random);
      const size_t half = random() % values.size();
      ExactSum parts = SumOf({values.begin(), values.begin() + half});
      parts.Add(SumOf({values.begin() + half, values.end()}));
      ASSERT_EQ(parts.Total(), total);
      ASSERT_EQ(parts.DividedBy(3), third);
      ASSERT_EQ(parts.Split(), split);
      parts.Subtract(sum);
      ASSERT_EQ(parts.Total(), 0);
    }
  }
}

// In integers, which long division divides.
TEST(ExactSum, QuotientIsTheNearestDouble) {
  std::mt19937_64 random(20);
  for (int i = 0; i < 20'000; ++i) {
    absl::uint128 n = 0, d = 0;
    ExactSum sum, divisor;
    const int shift = static_cast<int>(random() % 60);
    for (int k = 0; k < 5; ++k) {
      const uint64_t value = random() >> 11;
      const uint64_t weight = 1 + (random() >> 11 >> shift);
      sum.AddProduct(static_cast<double>(value), static_cast<double>(weight));
      divisor.Add(static_cast<double>(weight));
      n += absl::uint128(value) * weight;
      d += weight;
    }
    ASSERT_EQ(sum.Total(), testing::Quotient(n, 1));
    ASSERT_EQ(sum.DividedBy(divisor), testing::Quotient(n, d));
  }
}

TEST(ExactSum, QuotientRoundsTiesToEven) {
  EXPECT_EQ(SumOf({0x1p54, 2}).DividedBy(2), 0x1p53);
  EXPECT_EQ(SumOf({0x1p54 + 4, 2}).DividedBy(2), 0x1p53 + 4);
  EXPECT_EQ(SumOf({0x1p54, 2, 0x1p-60}).DividedBy(2), 0x1p53 + 2);
  EXPECT_EQ(SumOf({-0x1p54, -2}).DividedBy(2), -0x1p53);
  EXPECT_EQ(SumOf({0x1p100, 3, -0x1p100}).DividedBy(3), 1);
}

TEST(ExactSum, SplitsIntoDoublesOfTheSameSum) {
  const ExactSum sum = SumOf({0x1p100, 1, 0x1p-60});
  EXPECT_EQ(sum.Split(), (std::array{0x1p100, 1.0, 0x1p-60}));
  ExactSum whole;
  for (const double part : sum.Split()) whole.Add(part);
  whole.Subtract(sum);
  EXPECT_EQ(whole.Total(), 0);
}

TEST(ExactSum, OfInfiniteTermsIsNotFinite) {
  EXPECT_FALSE(std::isfinite(SumOf({1, INFINITY}).Total()));
  EXPECT_FALSE(std::isfinite(SumOf({1e308, 1e308, 1}).Total()));
  EXPECT_FALSE(std::isfinite(SumOf({1, NAN}).DividedBy(2)));
}

}  // namespace
}  // namespace fleetperf
