// Examples of Microsoft's "Parsing C command-line arguments".

#include "driver/pmc/command_line_text.h"

#include <gtest/gtest.h>

namespace fleetperf::pmc {
namespace {

TEST(CommandLineText, QuotesAsTheCRuntimeParses) {
  EXPECT_EQ(CommandLineText({"a.exe", "b", "c:\\d"}), "a.exe b c:\\d");
  EXPECT_EQ(CommandLineText({"a b c", "d", "e"}), R"("a b c" d e)");
  EXPECT_EQ(CommandLineText({"ab\"c", "\\", "d"}), R"("ab\"c" \ d)");
  EXPECT_EQ(CommandLineText({"a\\\\\\b", "de fg", "h"}), R"(a\\\b "de fg" h)");
  EXPECT_EQ(CommandLineText({"a\\\"b", "c"}), R"("a\\\"b" c)");
  EXPECT_EQ(CommandLineText({"a\\\\b c", "d e\\"}), R"("a\\b c" "d e\\")");
  EXPECT_EQ(CommandLineText({"", "x"}), R"("" x)");
}

}  // namespace
}  // namespace fleetperf::pmc
