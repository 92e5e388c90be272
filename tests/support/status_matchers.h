// Matchers for absl::Status and absl::StatusOr.

#ifndef FLEETPERF_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define FLEETPERF_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fleetperf::testing {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// EXPECT_THAT(ReadFile("/a"), IsOkAndHolds("text"));
MATCHER_P(IsOkAndHolds, value_matcher, "is OK and has the value") {
  *result_listener << StatusOf(arg).ToString();
  return arg.ok() &&
         ::testing::ExplainMatchResult(value_matcher, *arg, result_listener);
}

// EXPECT_THAT(ReadFile("/no"), StatusIs(absl::StatusCode::kNotFound,
//                                       HasSubstr("/no")));
MATCHER_P2(StatusIs, code, message_matcher, "has the code and the message") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message_matcher,
                                       std::string(StatusOf(arg).message()),
                                       result_listener);
}

}  // namespace fleetperf::testing

#define ASSERT_OK(expression) \
  ASSERT_THAT(expression, ::fleetperf::testing::IsOk())
#define EXPECT_OK(expression) \
  EXPECT_THAT(expression, ::fleetperf::testing::IsOk())

// ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(path));
#define ASSERT_OK_AND_ASSIGN(target, expression) \
  FLEETPERF_ASSERT_OK_AND_ASSIGN(                \
      FLEETPERF_TEST_CONCAT(fleetperf_or_, __LINE__), target, expression)
#define FLEETPERF_ASSERT_OK_AND_ASSIGN(status_or, target, expression) \
  auto status_or = (expression);                                      \
  ASSERT_OK(status_or);                                               \
  target = *std::move(status_or)
#define FLEETPERF_TEST_CONCAT(a, b) FLEETPERF_TEST_CONCAT_INNER(a, b)
#define FLEETPERF_TEST_CONCAT_INNER(a, b) a##b

#endif  // FLEETPERF_TESTS_SUPPORT_STATUS_MATCHERS_H_
