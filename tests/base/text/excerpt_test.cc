#include "base/text/excerpt.h"

#include <gtest/gtest.h>

namespace fleetperf {
namespace {

TEST(Excerpt, LeavesShortTextsAlone) {
  EXPECT_EQ(Excerpt(""), "");
  EXPECT_EQ(Excerpt("abc", 3), "abc");
  EXPECT_EQ(Excerpt(std::string(kMaxExcerpt, 'a')),
            std::string(kMaxExcerpt, 'a'));
}

TEST(Excerpt, CutsLongTextsAndNamesTheirSize) {
  EXPECT_EQ(Excerpt("abcd", 3), "abc… (4 bytes)");
  EXPECT_EQ(Excerpt(std::string(100'000, 'a'), 2), "aa… (100000 bytes)");
}

TEST(Excerpt, DoesNotCutCharacters) {
  EXPECT_EQ(Excerpt("a\xE2\x82\xAC!", 1), "a… (5 bytes)");
  EXPECT_EQ(Excerpt("a\xE2\x82\xAC!", 2), "a… (5 bytes)");
  EXPECT_EQ(Excerpt("a\xE2\x82\xAC!", 3), "a… (5 bytes)");
  EXPECT_EQ(Excerpt("a\xE2\x82\xAC!", 4), "a\xE2\x82\xAC… (5 bytes)");
  EXPECT_EQ(Excerpt("\x80\x80\x80", 2), "… (3 bytes)");
}

}  // namespace
}  // namespace fleetperf
