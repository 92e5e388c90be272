#include "base/address.h"

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(CheckAddress, RequiresAPort) {
  EXPECT_OK(CheckAddress("127.0.0.1:1"));
  EXPECT_OK(CheckAddress("aggregator.example:65535"));
  EXPECT_OK(CheckAddress("[::1]:7443"));
  EXPECT_OK(CheckAddress("127.0.0.1:0", /*least_port=*/0));
  EXPECT_THAT(CheckAddress("localhost"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "\"localhost\" has no port; write it as in "
                       "aggregator.example:7443"));
  for (const char* wrong : {"h:99999", "h:0", "h:", "h:-1", "h:https"}) {
    EXPECT_THAT(CheckAddress(wrong),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("which is not a port (1 to 65535)")))
        << wrong;
  }
}

TEST(CheckAddress, NamesUrls) {
  EXPECT_THAT(CheckAddress("https://agg:7443"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "\"https://agg:7443\" is a URL; write it without "
                       "\"https://\", as in aggregator.example:7443"));
  EXPECT_THAT(CheckAddress("HTTP://agg"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("write it without \"http://\"")));
}

}  // namespace
}  // namespace fleetperf
