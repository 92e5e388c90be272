#include "cli/plot/plot_file.h"

#include <cairo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/os/files.h"
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

// The relative luminance of WCAG 2.1 of a color given as three shares of 255.
double LuminanceOf(const std::array<double, 3>& rgb) {
  std::array<double, 3> linear;
  for (size_t i = 0; i < 3; ++i) {
    const double part = rgb[i] / 255;
    linear[i] =
        part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  }
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// The luminances of a color in light and in dark viewers.
struct Luminances {
  double light;
  double dark;
};

// Returns the colors of the elements whose `property` has a color: fill or
// stroke. Expects each to have a class with a rule for dark viewers.
std::vector<Luminances> ColorsOf(const std::string& svg,
                                 const std::string& property,
                                 const std::string& tag_pattern) {
  const std::regex tags("<" + tag_pattern + "[^>]*>");
  const std::regex light(property + R"([:="]+rgb\(([0-9.]+)%, ?([0-9.]+)%, ?)" +
                         R"(([0-9.]+)%\))");
  const std::regex class_name("class=\"[^\"]*(" + property + "-[0-9A-F]{6})");
  std::vector<Luminances> colors;
  for (std::sregex_iterator tag(svg.begin(), svg.end(), tags), end; tag != end;
       ++tag) {
    const std::string text = tag->str();
    std::smatch match;
    if (!std::regex_search(text, match, light)) continue;
    const double in_light =
        LuminanceOf({std::stod(match[1]) * 2.55, std::stod(match[2]) * 2.55,
                     std::stod(match[3]) * 2.55});
    std::smatch name;
    if (!std::regex_search(text, name, class_name)) {
      ADD_FAILURE() << "no class: " << text;
      continue;
    }
    const std::regex rule("@media \\(prefers-color-scheme:dark\\)\\{.*\\." +
                          name[1].str() + "\\{" + property +
                          ":#([0-9A-F]{2})([0-9A-F]{2})([0-9A-F]{2})"
                          "!important\\}.*\\}</style>");
    std::smatch dark;
    if (!std::regex_search(svg, dark, rule)) {
      ADD_FAILURE() << "no rule: " << name[1];
      continue;
    }
    const auto part = [&](int i) {
      return static_cast<double>(std::stoi(dark[i].str(), nullptr, 16));
    };
    colors.push_back({in_light, LuminanceOf({part(1), part(2), part(3)})});
  }
  return colors;
}

double Contrast(double a, double b) {
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

TEST(WritePlotFile, SvgIsLegibleInLightAndDark) {
  const testing::TempDirectory directory;
  Chart chart = OnePanel();
  for (int i = 1; i < 6; ++i) {
    chart.lines.push_back(chart.lines[0]);
    chart.lines.back().label = "web-" + std::string(1, char('1' + i));
  }
  const std::string svg = Draw(chart, directory.File("chart.svg"));
  const auto background = ColorsOf(svg, "fill", "rect");
  ASSERT_EQ(background.size(), 1);
  EXPECT_EQ(background[0].light, 1);
  EXPECT_LT(background[0].dark, 0.02);
  const auto expect_contrast = [&](const Luminances& color, double least) {
    EXPECT_GE(Contrast(color.light, background[0].light), least);
    EXPECT_GE(Contrast(color.dark, background[0].dark), least);
  };

  const auto texts = ColorsOf(svg, "fill", "g");
  EXPECT_FALSE(texts.empty());
  for (const Luminances& color : texts) expect_contrast(color, 7);

  // The last strokes: six lines and their marks in the legend.
  const auto strokes = ColorsOf(svg, "stroke", "path");
  ASSERT_GE(strokes.size(), 12);
  std::set<double> light;
  std::set<double> dark;
  for (size_t i = strokes.size() - 12; i < strokes.size(); ++i) {
    expect_contrast(strokes[i], 3);
    light.insert(strokes[i].light);
    dark.insert(strokes[i].dark);
  }
  EXPECT_EQ(light.size(), 6);
  EXPECT_EQ(dark.size(), 6);
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
