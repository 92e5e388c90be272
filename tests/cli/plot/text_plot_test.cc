#include "cli/plot/text_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output.h"

namespace fleetperf::cli {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr TextStyle kPlain = {Characters::kAscii, false};
constexpr TextStyle kUnicode = {Characters::kUnicode, false};
constexpr TextStyle kColors = {Characters::kUnicode, true};

ChartLine LineOf(const std::string& label,
                 const std::vector<std::optional<double>>& values) {
  ChartLine line = {.label = label, .counter = "Counter", .unit = "%"};
  for (size_t i = 0; i < values.size(); ++i) {
    line.points.push_back(
        {.time = absl::FromUnixSeconds(static_cast<int64_t>(i)),
         .value = values[i]});
  }
  return line;
}

Chart ChartOf(std::vector<ChartLine> lines) {
  return {.title = "title", .subtitle = "subtitle", .lines = std::move(lines)};
}

TEST(DrawText, DrawsAxesAndLines) {
  // The axes enclose 4 rows for 0 to 100 and 10 columns for 4 s.
  EXPECT_THAT(
      DrawText(ChartOf({LineOf("up", {0, 25, 50, 75, 100})}), 14, 10, kPlain),
      ElementsAre("title",           //
                  "subtitle",        //
                  "    Counter, …",  //
                  "100+        **",  //
                  "   |     ***",    //
                  " 50+   ***",      //
                  "   |***",         //
                  "  0++---------",  //
                  " Jan 01",         //
                  "** up"));
}

TEST(DrawText, LeavesGapsOpen) {
  const std::vector<std::string> lines =
      DrawText(ChartOf({LineOf("a", {100, 100, std::nullopt, 100, 100})}), 14,
               10, kPlain);
  EXPECT_EQ(lines[3], "100+***    ***");
}

TEST(DrawText, DrawsSingleCurvesInBraille) {
  EXPECT_EQ(DrawText(ChartOf({LineOf("a", {100, 100})}), 14, 10, kUnicode)[3],
            "100┤⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉");
  // A cell has two columns and four rows of dots. The curve rises by eight dots
  // in four columns; this row shows the lower four.
  EXPECT_EQ(DrawText(ChartOf({LineOf("a", {50, 50, 100})}), 8, 10, kUnicode)[4],
            "   │  ⡰⠁");
}

TEST(DrawText, DistinguishesLinesByColorsOrMarks) {
  const Chart chart = ChartOf({LineOf("a", {100, 100}), LineOf("b", {0, 0})});
  const auto colored = DrawText(chart, 14, 10, kColors);
  EXPECT_EQ(colored[3], "100┤\x1b[38;5;25m⠉⠉⠉⠉⠉⠉⠉⠉⠉⠉\x1b[0m");
  EXPECT_EQ(colored[6], "   │\x1b[38;5;166m⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀\x1b[0m");
  EXPECT_EQ(colored[9], "\x1b[38;5;25m━━\x1b[0m a  \x1b[38;5;166m━━\x1b[0m b");
  const auto marked = DrawText(chart, 14, 10, kUnicode);
  EXPECT_EQ(marked[3], "100┤**********");
  EXPECT_EQ(marked[6], "   │++++++++++");
  EXPECT_EQ(marked[9], "** a  ++ b");
  EXPECT_THAT(marked, Each(Not(HasSubstr("\x1b"))));
}

TEST(DrawText, ReplacesControlCharactersInNames) {
  const auto lines =
      DrawText(ChartOf({LineOf("a\x1b[2J", {1, 1})}), 40, 10, kUnicode);
  EXPECT_EQ(lines.back(), "━━ a?[2J");
}

TEST(DrawText, StaysInsideItsWidth) {
  for (const size_t width : {1, 5, 20, 80}) {
    for (const std::string& line :
         DrawText(ChartOf({LineOf("a", {1, 2, 3}), LineOf("b", {3, -2e9, 1})}),
                  width, 24, kUnicode)) {
      EXPECT_LE(DisplayWidth(line), width);
    }
  }
}

}  // namespace
}  // namespace fleetperf::cli
