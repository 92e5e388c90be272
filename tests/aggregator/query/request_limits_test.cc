// The limits of requests' texts, and the errors for texts beyond them.

#include "aggregator/query/request_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator/query/resolver.h"
#include "fleetperf/v1/query.pb.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

v1::QueryRangeRequest RequestOf(size_t paths, size_t bytes) {
  v1::QueryRangeRequest request;
  for (size_t i = 0; i < paths; ++i) {
    request.add_paths(std::string(bytes, 'a'));
  }
  return request;
}

TEST(RequestLimits, LimitsPaths) {
  EXPECT_OK(CheckPathsAndFilter(RequestOf(kMaxPaths, 65)));
  EXPECT_THAT(CheckPathsAndFilter(RequestOf(kMaxPaths + 1, 1)),
              StatusIs(kInvalid, HasSubstr("has 1001 paths, more than 1000")));
  EXPECT_OK(CheckPathsAndFilter(RequestOf(1, kMaxPathBytes)));
  EXPECT_THAT(
      CheckPathsAndFilter(RequestOf(2, kMaxPathBytes)),
      StatusIs(kInvalid, HasSubstr("131072 bytes of paths, more than 65536")));
}

TEST(RequestLimits, LimitsTheFilter) {
  v1::QueryRangeRequest request;
  request.set_machine(std::string(kMaxFilterBytes, '*'));
  EXPECT_OK(CheckPathsAndFilter(request));
  (*request.mutable_labels())["a"] = "b";
  EXPECT_THAT(CheckPathsAndFilter(request),
              StatusIs(kInvalid, HasSubstr("has 8194 bytes of labels")));
  request.clear_machine();
  for (size_t i = 1; i < kMaxFilterLabels; ++i) {
    (*request.mutable_labels())[absl::StrCat(i)] = "";
  }
  EXPECT_OK(CheckFilter(request));
  (*request.mutable_labels())["one more"] = "";
  EXPECT_THAT(CheckFilter(request),
              StatusIs(kInvalid, HasSubstr("has 65 labels, more than 64")));
}

TEST(RequestLimits, CountsMachinesWithWildcardsOnce) {
  ASSERT_OK_AND_ASSIGN(const PathSet paths,
                       PathSet::Parse({R"(\\web-*\A\B)", R"(\\WEB-1\A\B)",
                                       R"(\\web-*\A\C)", R"(\A\B)"},
                                      std::vector<std::string>()));
  EXPECT_EQ(paths.machine_patterns(), 2u);  // web-* and *
  EXPECT_OK(CheckMachinePatterns(kMaxMachinePatterns));
  EXPECT_THAT(CheckMachinePatterns(kMaxMachinePatterns + 1),
              StatusIs(kInvalid, HasSubstr("write the machines' names")));
}

}  // namespace
}  // namespace fleetperf::aggregator
