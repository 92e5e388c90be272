#include "aggregator/cli/plot/plot_file.h"

#include <cairo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/temp_directory.h"

namespace fleetperf::cli {
namespace {

using ::testing::HasSubstr;

// A chart with one panel: 1200 by 416 pixels.
Chart OnePanel() {
  Chart chart = {.title = "a & <b>", .subtitle = "from then to now"};
  ChartLine line = {.label = "web-1", .counter = "Counter", .unit = "%"};
  line.points = {{absl::FromUnixSeconds(0), 0},
                 {absl::FromUnixSeconds(30), 25},
                 {absl::FromUnixSeconds(60), 100}};
  chart.lines.push_back(line);
  return chart;
}

std::string Draw(const Chart& chart, const std::string& path) {
  const absl::Status status = WritePlotFile(chart, path);
  EXPECT_TRUE(status.ok()) << status;
  return ReadFile(path).value_or("");
}

TEST(WritePlotFile, DrawsSvg) {
  const testing::TempDirectory directory;
  const std::string svg = Draw(OnePanel(), directory.File("chart.svg"));
  EXPECT_THAT(svg, HasSubstr("width=\"1200px\" height=\"416px\""));
  EXPECT_THAT(svg, HasSubstr("<title>a &amp; &lt;b&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr("from then to now\nweb-1</desc>"));
  // Left: a margin of 16, three digits and a space of 8. Top: the margin, three
  // lines of 20. Below: ticks of 6, times, legend, the margin.
  EXPECT_THAT(svg, HasSubstr("M 48 354 L 616 284.5 L 1184 76 \""));
  // All letters, such as those of "0" and "web-1", are drawn as shapes.
  EXPECT_THAT(svg, HasSubstr("xlink:href=\"#glyph"));
}

TEST(WritePlotFile, BreaksLinesAtGaps) {
  const testing::TempDirectory directory;
  Chart chart = OnePanel();
  chart.lines[0].points[1].value = std::nullopt;
  const std::string svg = Draw(chart, directory.File("chart.svg"));
  EXPECT_THAT(svg, HasSubstr("M 48 354 L 48 354 M 1184 76 L 1184 76 \""));
}

// The pixel is 0xRRGGBB.
uint32_t PixelAt(cairo_surface_t* surface, int x, int y) {
  const unsigned char* row = cairo_image_surface_get_data(surface) +
                             y * cairo_image_surface_get_stride(surface);
  return reinterpret_cast<const uint32_t*>(row)[x] & 0xFFFFFF;
}

TEST(WritePlotFile, DrawsPng) {
  const testing::TempDirectory directory;
  const std::string path = directory.File("chart.PNG");
  Chart chart = OnePanel();
  for (ChartPoint& point : chart.lines[0].points) point.value = 50;
  Draw(chart, path);
  cairo_surface_t* surface = cairo_image_surface_create_from_png(path.c_str());
  ASSERT_EQ(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
  EXPECT_EQ(cairo_image_surface_get_width(surface), 1200);
  EXPECT_EQ(cairo_image_surface_get_height(surface), 416);
  EXPECT_EQ(PixelAt(surface, 2, 2), 0xFFFFFF);
  // A horizontal line in the first color, at the highest value: the axis ends
  // at 50.
  EXPECT_EQ(PixelAt(surface, 600, 76), 0x0072B2);
  cairo_surface_destroy(surface);
}

TEST(WritePlotFile, DrawsAPanelForEachUnit) {
  const testing::TempDirectory directory;
  Chart chart = OnePanel();
  chart.lines.push_back(chart.lines[0]);
  chart.lines[1].unit = "B";
  EXPECT_THAT(Draw(chart, directory.File("chart.svg")),
              HasSubstr("width=\"1200px\" height=\"776px\""));
}

TEST(WritePlotFile, ListsTheSupportedFileTypes) {
  for (const char* path : {"chart.jpg", "chart", "svg", ""}) {
    const absl::Status status = CheckPlotFile(path);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("does not end in .svg or .png"));
  }
  EXPECT_THAT(
      std::string(WritePlotFile(OnePanel(), "/nowhere/chart.svg").message()),
      HasSubstr("/nowhere/chart.svg"));
}

}  // namespace
}  // namespace fleetperf::cli
