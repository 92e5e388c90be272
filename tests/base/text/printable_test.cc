#include "base/text/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/status_matchers.h"

namespace fleetperf {
namespace {

TEST(Printable, LeavesNamesAlone) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("nginx: worker (1)"), "nginx: worker (1)");
  EXPECT_EQ(Printable("Übertragung \xE2\x82\xAC"), "Übertragung \xE2\x82\xAC");
  // U+00A0 is the first character after the control characters.
  EXPECT_EQ(Printable("a\xC2\xA0z"), "a\xC2\xA0z");
}

// So that names with different ones look different (web/tests).
TEST(Printable, EscapesCharactersThatChangeTheDirectionOfWriting) {
  // The right-to-left override and the end of its effect.
  EXPECT_EQ(Printable("a\u202Etxt.exe\u202C"), "a\\u202Etxt.exe\\u202C");
  EXPECT_EQ(Printable("\u2066a\u2069 \u200E\u200F\u061C"),
            "\\u2066a\\u2069 \\u200E\\u200F\\u061C");
}

TEST(Printable, ReplacesCharactersWithoutWidth) {
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

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(Text, AcceptsUtf8WithoutControlCharacters) {
  EXPECT_OK(CheckText(""));
  EXPECT_OK(CheckText("web-1 (Rack 2): \\System\\*"));
  EXPECT_OK(CheckText("café"));
  EXPECT_OK(CheckText("\u4E2D\U0001F600\U0010FFFF"));
  // The neighbors of the control characters, and format characters.
  EXPECT_OK(CheckText(" ~\u00A0\u202E\u200D"));
}

TEST(Text, RefusesOtherEncodings) {
  EXPECT_THAT(CheckText("caf\xE9"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "\"caf\\xE9\" is not UTF-8: it has the byte 0xE9; "
                       "encode it in UTF-8"));
  for (const char* text : {"\xE9t\xE9",         // Latin-1
                           "\xC3",              // cut
                           "\xC0\xAF",          // overlong
                           "\xED\xA0\x80",      // a surrogate
                           "\xF4\x90\x80\x80",  // above U+10FFFF
                           "\xFF\xFEw\x01"}) {  // UTF-16
    EXPECT_THAT(CheckText(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("is not UTF-8")))
        << text;
  }
}

TEST(Text, RefusesControlCharacters) {
  EXPECT_THAT(CheckText("a\x1B[2J"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "\"a\\x1B[2J\" has the control character U+001B; "
                       "remove it"));
  for (int c = 0; c < 0x20; ++c) {
    EXPECT_FALSE(CheckText(std::string(1, static_cast<char>(c))).ok()) << c;
  }
  EXPECT_FALSE(CheckText("\x7F").ok());
  EXPECT_THAT(CheckText("a\u0085b"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"a\\xC2\\x85b\" has the control character "
                                 "U+0085")));
  EXPECT_FALSE(CheckText("\u009F").ok());
}

TEST(Text, QuotesForTerminals) {
  EXPECT_EQ(QuoteText("café"), "\"café\"");
  EXPECT_EQ(QuoteText("\xC3z\n"), "\"\\xC3z\\x0A\"");
  // The right-to-left override.
  EXPECT_EQ(QuoteText("a\u202Etxt"), "\"a\\xE2\\x80\\xAEtxt\"");
  EXPECT_LT(QuoteText(std::string(100'000, '\x01')).size(), 2000);
}

}  // namespace

}  // namespace fleetperf
