// The list "others" of the aggregator's configuration file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator/config.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::aggregator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::StatusIs;

// Parses a file that ends with `others`, which begins in line 4.
absl::StatusOr<Config> Parse(const std::string& others) {
  return ParseConfig(
      absl::StrCat("listen: 127.0.0.1:0\n"
                   "store: {directory: store}\n"
                   "tls: {authority: a, certificate: c, key: k}\n",
                   others),
      "aggregator.yaml");
}

TEST(Others, MayHaveNoPage) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse("others:\n"
            "- {aggregator: 'agg-2:7443', page: 'https://agg-2:7445'}\n"
            "- {aggregator: 'agg-3:7443'}\n"));
  ASSERT_THAT(config.others, SizeIs(2));
  EXPECT_EQ(config.others[0].address, "agg-2:7443");
  EXPECT_EQ(config.others[0].page, "https://agg-2:7445");
  EXPECT_EQ(config.others[1].address, "agg-3:7443");
  EXPECT_EQ(config.others[1].page, "");
  ASSERT_OK_AND_ASSIGN(const Config without, Parse(""));
  EXPECT_THAT(without.others, IsEmpty());
}

TEST(Others, ErrorsNameTheLineAndTheKey) {
  EXPECT_THAT(Parse("others:\n- {page: 'https://agg-2:7445'}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "aggregator.yaml:5: others[0].aggregator: is missing"));
  EXPECT_THAT(
      Parse("others: [{aggregator: agg-2}]\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               StartsWith("aggregator.yaml:4: others[0].aggregator: ")));
  for (const std::string page :
       {"http://agg-2:7445", "https://agg-2:7445/", "javascript:alert(1)"}) {
    EXPECT_THAT(
        Parse(absl::StrCat("others: [{aggregator: 'agg-2:7443', page: '", page,
                           "'}]\n")),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 StartsWith("aggregator.yaml:4: others[0].page: must "
                            "begin with https://")));
  }
  EXPECT_THAT(
      Parse("others: [{address: 'agg-2:7443'}]\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("others[0]")));
}

}  // namespace
}  // namespace fleetperf::aggregator
