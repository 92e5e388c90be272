#include "cli/plot/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fleetperf::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;
using ::testing::SizeIs;

// A terminal's cells.
constexpr Canvas kCells = {.width = 80,
                           .height = 24,
                           .character = 1,
                           .line = 1,
                           .margin = 0,
                           .axis = 1};

ChartPoint At(int second, std::optional<double> value) {
  return {.time = absl::FromUnixSeconds(second), .value = value};
}

ChartLine LineOf(const std::string& label, const std::string& unit,
                 std::vector<ChartPoint> points) {
  return {.label = label,
          .counter = "Counter",
          .unit = unit,
          .points = std::move(points)};
}

std::vector<std::string> TextsOf(const Panel& panel) {
  std::vector<std::string> texts;
  for (const Text& text : panel.texts) texts.push_back(text.text);
  return texts;
}

::testing::Matcher<Position> IsAt(double x, double y) {
  return AllOf(::testing::Field(&Position::x, DoubleEq(x)),
               ::testing::Field(&Position::y, DoubleEq(y)));
}

TEST(Layout, PlacesValuesByTheirAxes) {
  const Chart chart = {
      .title = "title",
      .subtitle = "subtitle",
      .lines = {LineOf("a", "%", {At(0, 0), At(30, 50), At(60, 100)})}};
  const Layout layout = MakeLayout(chart, kCells);
  ASSERT_THAT(layout.panels, SizeIs(1));
  const Panel& panel = layout.panels.front();
  // Above: title, subtitle, heading; below: axis, times, legend. On the left:
  // "100" and the axis.
  EXPECT_EQ(panel.top, 3);
  EXPECT_EQ(panel.bottom, 24 - 3);
  EXPECT_EQ(panel.left, 4);
  EXPECT_EQ(panel.right, 80);
  EXPECT_EQ(panel.end, 24);
  EXPECT_EQ(layout.height, 24);
  ASSERT_THAT(panel.curves, SizeIs(1));
  EXPECT_THAT(panel.curves[0].pieces,
              ElementsAre(ElementsAre(IsAt(4, 21), IsAt(42, 12), IsAt(80, 3))));
  // At least two lines apart: at most nine steps, of 20.
  EXPECT_THAT(panel.value_ticks,
              Pointwise(DoubleEq(), {21.0, 17.4, 13.8, 10.2, 6.6, 3.0}));
  // At least 14 characters apart: at most five steps, of 15 s.
  EXPECT_THAT(panel.time_ticks,
              Pointwise(DoubleEq(), {4.0, 23.0, 42.0, 61.0, 80.0}));
  EXPECT_THAT(
      TextsOf(panel),
      ElementsAre("0", "20", "40", "60", "80", "100", "Jan 01", "00:00:15",
                  "00:00:30", "00:00:45", "00:01:00", "Counter, in %", "a"));
}

TEST(Layout, BreaksLinesAtGaps) {
  const Chart chart = {
      .lines = {LineOf(
          "a", "",
          {At(0, std::nullopt), At(10, 1), At(20, 1), At(30, std::nullopt),
           At(40, 1), At(50, std::nullopt), At(60, std::nullopt), At(70, 1)})}};
  const Layout layout = MakeLayout(chart, kCells);
  EXPECT_THAT(layout.panels[0].curves[0].pieces,
              ElementsAre(SizeIs(2), SizeIs(1), SizeIs(1)));
}

TEST(Layout, GivesEachUnitAPanelWithTheSameTimes) {
  const Chart chart = {.lines = {LineOf("a", "%", {At(0, 100), At(10, 100)}),
                                 LineOf("b", "B", {At(0, 2e9), At(10, 2e9)}),
                                 LineOf("c", "%", {At(0, 5), At(20, 5)})}};
  EXPECT_EQ(PanelCount(chart), 2);
  const Layout layout = MakeLayout(chart, kCells);
  ASSERT_THAT(layout.panels, SizeIs(2));
  const Panel& percent = layout.panels[0];
  const Panel& bytes = layout.panels[1];
  EXPECT_THAT(percent.curves, SizeIs(2));
  EXPECT_THAT(bytes.curves, SizeIs(1));
  // (24 - 2) / 2 lines each.
  EXPECT_EQ(percent.end, 13);
  EXPECT_EQ(bytes.top, 14);
  EXPECT_EQ(bytes.end, 24);
  EXPECT_EQ(percent.left, bytes.left);
  // Half of the time, in all panels.
  const double middle = (bytes.left + 80) / 2;
  EXPECT_EQ(bytes.curves[0].pieces[0].back().x, middle);
  EXPECT_EQ(percent.curves[1].pieces[0].back().x, 80);
  // 2e9 / 2^30 = 1.86
  EXPECT_THAT(TextsOf(bytes), Contains("Counter, in GiB"));
  EXPECT_THAT(TextsOf(bytes), Contains("2"));
  EXPECT_NEAR(bytes.curves[0].pieces[0][0].y,
              bytes.bottom - (bytes.bottom - bytes.top) * 1.8626 / 2, 1e-3);
}

TEST(Layout, LimitsTheLegendToTheSpace) {
  Chart chart;
  for (int i = 0; i < 20; ++i) {
    chart.lines.push_back(LineOf("label", "%", {At(0, 1), At(1, 1)}));
  }
  const Layout layout = MakeLayout(chart, kCells);
  const Panel& panel = layout.panels.front();
  EXPECT_THAT(panel.curves, SizeIs(20));
  EXPECT_THAT(panel.legend, SizeIs(12));
  EXPECT_EQ(panel.texts.back().text, "and 8 more");
  // A mark takes 3 characters, a label 5, a space 2: eight in a row.
  EXPECT_EQ(panel.legend[7].left.x, 70);
  EXPECT_EQ(panel.legend[8].left.x, 0);
  EXPECT_EQ(panel.legend[8].left.y, panel.legend[7].left.y + 1);
  EXPECT_EQ(panel.end, 24);
}

TEST(Layout, CutsLongTexts) {
  const std::string text(200, 'x');
  const Layout layout = MakeLayout(
      {.title = text, .lines = {LineOf(text, "%", {At(0, 1), At(1, 1)})}},
      kCells);
  EXPECT_EQ(layout.title.text, std::string(79, 'x') + "…");
  EXPECT_EQ(layout.panels[0].texts.back().text, std::string(76, 'x') + "…");
}

TEST(Layout, GrowsRatherThanHidePanels) {
  Chart chart;
  for (const char* unit : {"%", "B", "s", "1/s"}) {
    chart.lines.push_back(LineOf("a", unit, {At(0, 1), At(1, 1)}));
  }
  const Layout layout = MakeLayout(chart, kCells);
  // Two lines, and four panels of a heading, four lines, axis, times, legend.
  EXPECT_EQ(layout.height, 2 + 4 * 8);
  EXPECT_EQ(layout.panels[3].end, layout.height);
}

TEST(Layout, HasRoomForASingleValue) {
  const Layout layout =
      MakeLayout({.lines = {LineOf("a", "%", {At(5, 0)})}}, kCells);
  const Panel& panel = layout.panels.front();
  EXPECT_EQ(panel.curves[0].pieces[0][0].x, (panel.left + panel.right) / 2);
  EXPECT_EQ(panel.curves[0].pieces[0][0].y, panel.bottom);
}

TEST(Layout, HasTheAskedRangeAsTimeAxis) {
  const TimeRange hour = {absl::FromUnixSeconds(0),
                          absl::FromUnixSeconds(3600)};
  const Layout layout = MakeLayout(
      {.lines = {LineOf("a", "%", {At(1800, 1), At(2700, 1)})}, .range = hour},
      kCells);
  const Panel& panel = layout.panels.front();
  const double width = panel.right - panel.left;
  EXPECT_EQ(panel.curves[0].pieces[0][0].x, panel.left + width / 2);
  EXPECT_EQ(panel.curves[0].pieces[0][1].x, panel.left + width * 3 / 4);
  EXPECT_THAT(TextsOf(panel), Contains("00:15"));
}

TEST(Layout, HasAxesWithoutAnyValue) {
  const Layout layout =
      MakeLayout({.lines = {LineOf("a", "%", {At(5, std::nullopt)})}}, kCells);
  EXPECT_THAT(layout.panels[0].curves[0].pieces, IsEmpty());
}

v1::Series SeriesOf(const std::string& machine, const std::string& instance,
                    const std::string& counter) {
  v1::Series series;
  series.set_machine(machine);
  series.set_counterset("PhysicalDisk");
  series.set_instance(instance);
  series.set_instance_index(0);
  series.set_counter(counter);
  series.set_path("\\PhysicalDisk(" + instance + ")\\" + counter);
  return series;
}

TEST(LabelsOf, OmitsCommonParts) {
  EXPECT_THAT(LabelsOf({SeriesOf("web-1", "sda", "Disk Bytes/sec"),
                        SeriesOf("web-2", "sda", "Disk Bytes/sec")}),
              ElementsAre("web-1", "web-2"));
  EXPECT_THAT(LabelsOf({SeriesOf("web-1", "sda", "Disk Bytes/sec"),
                        SeriesOf("web-1", "sdb", "Disk Reads/sec")}),
              ElementsAre("sda Disk Bytes/sec", "sdb Disk Reads/sec"));
  v1::Series twin = SeriesOf("web-1", "sda", "Disk Bytes/sec");
  twin.set_instance_index(1);
  EXPECT_THAT(LabelsOf({SeriesOf("web-1", "sda", "Disk Bytes/sec"), twin}),
              ElementsAre("sda", "sda#1"));
}

TEST(LabelsOf, UsesFullNamesIfNecessary) {
  EXPECT_THAT(LabelsOf({SeriesOf("web-1", "sda", "Disk Bytes/sec")}),
              ElementsAre("\\\\web-1\\PhysicalDisk(sda)\\Disk Bytes/sec"));
  // An aggregate has no machine.
  EXPECT_THAT(LabelsOf({SeriesOf("", "sda", "Disk Bytes/sec"),
                        SeriesOf("web-1", "sda", "Disk Bytes/sec")}),
              ElementsAre("\\PhysicalDisk(sda)\\Disk Bytes/sec",
                          "\\\\web-1\\PhysicalDisk(sda)\\Disk Bytes/sec"));
  v1::Series expression = SeriesOf("web-1", "", "2 * Reads");
  expression.set_path("2 * \\Disk\\Reads");
  EXPECT_THAT(LabelsOf({expression}),
              ElementsAre("\\\\web-1 2 * \\Disk\\Reads"));
}

}  // namespace
}  // namespace fleetperf::cli
