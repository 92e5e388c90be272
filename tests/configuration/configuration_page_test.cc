#include "tests/configuration/configuration_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/os/files.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::testing {
namespace {

using ::testing::HasSubstr;

TEST(ConfigurationPage, IsUpToDate) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(const std::string page,
                       ConfigurationPage(directory.path()));
  ASSERT_OK_AND_ASSIGN(
      const std::string committed,
      ReadFile(absl::StrCat(FLEETPERF_DOCS, "/reference/configuration.md")));
  EXPECT_TRUE(committed == page)
      << "The keys of a configuration file changed. In the root of the source, "
         "write the page again with\n"
         "  build/release/tests/configuration_page > "
         "docs/reference/configuration.md";
}

TEST(ConfigurationPage, ShowsEachKeyInARow) {
  const TempDirectory directory;
  ASSERT_OK_AND_ASSIGN(const std::string page,
                       ConfigurationPage(directory.path()));
  EXPECT_THAT(page, HasSubstr("| `store.full_resolution` | duration | `7d` | "
                              "`1h` to `3650d` | reload | samples received "
                              "longer ago are thinned to one a minute |\n"));
  EXPECT_THAT(page, HasSubstr("| `listen` | text | required |  | restart | "
                              "`host:port`; port 0 selects a free port |\n"));
}

TEST(ConfigurationPage, RefusesTablesThatDoNotFitTheCode) {
  const ConfigKey keys[] = {{"a", "the first letter"}};
  EXPECT_OK(ConfigurationRows(keys, {{"a", {.type = "text"}}}));
  EXPECT_THAT(ConfigurationRows(keys, {}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no code reads the key a")));
  EXPECT_THAT(ConfigurationRows(
                  keys, {{"a", {.type = "text"}}, {"b", {.type = "text"}}}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no table describes the key b")));
}

}  // namespace
}  // namespace fleetperf::testing
