#include "aggregator/formula/precise_sum.h"

#include <gtest/gtest.h>

#include <random>

namespace fleetperf::aggregator {
namespace {

TEST(PreciseSum, OfEqualValuesHasTheirValueAsMean) {
  std::mt19937_64 random(18);
  std::uniform_real_distribution<double> mantissa(1, 2);
  for (int i = 0; i < 300; ++i) {
    const double value =
        std::ldexp(mantissa(random), static_cast<int>(random() % 200) - 100) *
        (random() % 2 == 0 ? 1 : -1);
    const uint64_t count = i < 3 ? 1'000'000 : 1 + random() % 5000;
    PreciseSum sum, products, weights;
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

TEST(PreciseSum, IsRoundedOnce) {
  PreciseSum sum;
  for (int i = 0; i < 1000; ++i) sum.Add(0.1);
  EXPECT_EQ(sum.Total(), 100);
  PreciseSum cancelled;
  for (const double value : {1e100, 1.0, -1e100}) cancelled.Add(value);
  EXPECT_EQ(cancelled.Total(), 1);
}

}  // namespace
}  // namespace fleetperf::aggregator
