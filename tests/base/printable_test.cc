#include "base/printable.h"

#include <gtest/gtest.h>

namespace fleetperf {
namespace {

TEST(Printable, LeavesNamesAlone) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("nginx: worker (1)"), "nginx: worker (1)");
  EXPECT_EQ(Printable("Übertragung \xE2\x82\xAC"), "Übertragung \xE2\x82\xAC");
  // U+00A0 is the first character after the control characters.
  EXPECT_EQ(Printable("a\xC2\xA0z"), "a\xC2\xA0z");
}

TEST(Printable, ReplacesControlCharacters) {
  EXPECT_EQ(Printable("a\nb\r\tc"), "a?b??c");
  EXPECT_EQ(Printable("\x1B[2J"), "?[2J");
  EXPECT_EQ(Printable("\x7F"), "?");
  EXPECT_EQ(Printable(absl::string_view("a\0b", 3)), "a?b");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "2J\xC2\x80\xC2\x9F"),
            "?2J??");
}

}  // namespace
}  // namespace fleetperf
