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

TEST(Printable, ReplacesCharactersWithoutWidth) {
  // The right-to-left override and the end of its effect.
  EXPECT_EQ(Printable("a\u202Etxt.exe\u202C"), "a?txt.exe?");
  EXPECT_EQ(Printable("\u2066a\u2069"), "?a?");
  EXPECT_EQ(Printable("web\u200B-1\u200D\uFEFF"), "web?-1??");
  EXPECT_EQ(Printable("a\u2028b\u00ADc\uFE0Fd"), "a?b?c?d");
  EXPECT_EQ(Printable("\U000E0041"), "?");  // a tag
  // Their neighbors.
  EXPECT_EQ(Printable("\u200A\u2010\u2027\u202F"), "\u200A\u2010\u2027\u202F");
  EXPECT_EQ(Printable("\U0001F600 \u2026 \u28FF"), "\U0001F600 \u2026 \u28FF");
}

TEST(Printable, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("\x9B"
                      "2J"),
            "?2J");
  EXPECT_EQ(Printable("\xC3"), "?");  // cut
  EXPECT_EQ(Printable("\xC3z"), "?z");
  EXPECT_EQ(Printable("\xC0\x9B"), "??");  // ESC, overlong
  EXPECT_EQ(Printable("\xE0\x80\x9B"), "???");
  EXPECT_EQ(Printable("\xED\xA0\x80"), "???");  // a surrogate
  EXPECT_EQ(Printable("\xF4\x90\x80\x80"), "????");
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
