#include "perflib/utf16.h"

#include <string>

#include "tests/support/byte_builder.h"
#include "tests/support/status_matchers.h"

namespace fleetperf::perflib {
namespace {

using testing::FromHex;

TEST(Utf16, ConvertsWellFormedTextBothWays) {
  const struct {
    const char* utf8;
    const char* utf16;
  } kCases[] = {
      {"", ""},
      {"41", "4100"},
      {"7f", "7f00"},            // the last of one byte
      {"c280", "8000"},          // the first of two
      {"dfbf", "ff07"},          // the last of two
      {"e0a080", "0008"},        // the first of three
      {"e282ac", "ac20"},        // the euro sign
      {"ed9fbf", "ffd7"},        // before the surrogates
      {"ee8080", "00e0"},        // after the surrogates
      {"efbfbf", "ffff"},        // the last of three
      {"f0908080", "00d800dc"},  // the first of four
      {"f09d849e", "34d81edd"},  // a clef
      {"f48fbfbf", "ffdbffdf"},  // the last of all
      {"61 00 62", "6100 0000 6200"},
      {"f09d849e c3a9 41", "34d81edd e900 4100"},
  };
  for (const auto& test : kCases) {
    SCOPED_TRACE(test.utf8);
    EXPECT_EQ(Utf16FromUtf8(FromHex(test.utf8)), FromHex(test.utf16));
    EXPECT_EQ(Utf8FromUtf16(FromHex(test.utf16)), FromHex(test.utf8));
  }
}

TEST(Utf16, ReplacesUnpairedSurrogates) {
  const struct {
    const char* utf16;
    const char* utf8;
  } kCases[] = {
      {"34d8", "\uFFFD"},             // at the end
      {"1edd", "\uFFFD"},             // low first
      {"1edd 34d8", "\uFFFD\uFFFD"},  // in reverse order
      {"34d8 4100", "\uFFFDA"},       // before something else
      {"34d8 34d8 1edd", "\uFFFD\U0001D11E"},
      {"ffdb 00e0", "\uFFFD\uE000"},
      {"4100 ffdf 4200", "A\uFFFDB"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(Utf8FromUtf16(FromHex(test.utf16)), test.utf8) << test.utf16;
  }
}

TEST(Utf16, IgnoresAnOddByteAtTheEnd) {
  EXPECT_EQ(Utf8FromUtf16(FromHex("4100 42")), "A");
  EXPECT_EQ(Utf8FromUtf16(FromHex("42")), "");
}

TEST(Utf16, ReplacesEachWrongByteOfIllFormedUtf8) {
  const struct {
    const char* utf8;
    int replacements;  // between "<" and ">"
  } kCases[] = {
      {"80", 1},  // a continuation without a start
      {"ff", 1},       {"fe", 1},       {"c3", 1},    // nothing follows
      {"e282", 2},     {"f09d84", 3},   {"c080", 2},  // overlong forms
      {"c1bf", 2},     {"e09fbf", 3},   {"f08fbfbf", 4},
      {"eda080", 3},                     // surrogates
      {"edbfbf", 3},   {"f4908080", 4},  // beyond U+10FFFF
      {"f8808080", 4},
  };
  for (const auto& test : kCases) {
    std::string expected = FromHex("3c00");
    for (int i = 0; i < test.replacements; ++i) expected += FromHex("fdff");
    expected += FromHex("3e00");
    EXPECT_EQ(Utf16FromUtf8("<" + FromHex(test.utf8) + ">"), expected)
        << test.utf8;
  }
}

TEST(Utf16, StaysInsideTheText) {
  // The next byte would complete the character.
  const std::string utf8 = FromHex("e282ac");
  EXPECT_EQ(Utf16FromUtf8(absl::string_view(utf8).substr(0, 2)),
            FromHex("fdff fdff"));
  const std::string utf16 = FromHex("34d8 1edd");
  EXPECT_EQ(Utf8FromUtf16(absl::string_view(utf16).substr(0, 2)), "\uFFFD");
}

TEST(Utf16, ReadsFromAnyAddress) {
  const std::string bytes = "x" + FromHex("ac20 4100");
  EXPECT_EQ(Utf8FromUtf16(absl::string_view(bytes).substr(1)), "\u20ACA");
}

}  // namespace
}  // namespace fleetperf::perflib
