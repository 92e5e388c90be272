#include "aggregator/web/shared_answers.h"

#include <memory>
#include <string>

#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator::web {
namespace {

Reply::Bytes Bytes(size_t size) {
  return std::make_shared<const std::string>(size, 'x');
}

TEST(SharedAnswers, LiveInProportionToTheirCost) {
  SharedAnswers answers;
  const absl::Duration now = absl::Hours(1);
  const Reply::Bytes cheap = Bytes(1);
  const Reply::Bytes dear = Bytes(2);
  answers.Add("cheap", cheap, absl::Milliseconds(2), now);
  answers.Add("dear", dear, absl::Seconds(1), now);
  EXPECT_EQ(answers.Find("other", now), nullptr);
  EXPECT_EQ(answers.Find("cheap", now + absl::Milliseconds(399)), cheap);
  EXPECT_EQ(answers.Find("cheap", now + absl::Milliseconds(400)), nullptr);
  EXPECT_EQ(answers.Find("dear", now + absl::Milliseconds(4999)), dear);
  EXPECT_EQ(answers.Find("dear", now + absl::Seconds(5)), nullptr);
  // A later one replaces it.
  answers.Add("dear", cheap, absl::Seconds(1), now + absl::Seconds(1));
  EXPECT_EQ(answers.Find("dear", now + absl::Seconds(5)), cheap);
}

TEST(SharedAnswers, AreBounded) {
  SharedAnswers answers;
  const Reply::Bytes half = Bytes(SharedAnswers::kMaxBytes / 2);
  const absl::Duration now = absl::Hours(1);
  answers.Add("1", half, absl::Seconds(1), now);
  answers.Add("2", Bytes(1), absl::Seconds(1), now + absl::Seconds(1));
  // Takes the place of the one that ends first.
  answers.Add("3", half, absl::Seconds(1), now + absl::Seconds(2));
  EXPECT_EQ(answers.Find("1", now), nullptr);
  EXPECT_NE(answers.Find("2", now), nullptr);
  EXPECT_EQ(answers.Find("3", now), half);
  answers.Add("4", Bytes(SharedAnswers::kMaxBytes), absl::Seconds(1), now);
  EXPECT_EQ(answers.Find("4", now), nullptr);
  EXPECT_EQ(answers.Find("3", now), half);
}

}  // namespace
}  // namespace fleetperf::aggregator::web
