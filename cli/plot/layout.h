// Computes the positions of a chart's elements. Draws nothing: the layout
// serves terminal cells and file coordinates alike.

#ifndef FLEETPERF_CLI_PLOT_LAYOUT_H_
#define FLEETPERF_CLI_PLOT_LAYOUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/plot/chart.h"

namespace fleetperf::cli {

// The drawing area, in any unit of length, with y downwards.
struct Canvas {
  double width;
  double height;
  double character;  // the width of a character
  double line;       // the height of a line of text
  double margin;     // left empty on every side
  double axis;       // between a panel and what is written below it
};

struct Position {
  double x;
  double y;
};

enum class Align { kLeft, kCenter, kRight };

// One line of text. `at` is its left end, middle or right end, at half height.
struct Text {
  Position at;
  Align align;
  std::string text;
};

// A line of the chart, in several pieces if it has gaps.
struct Curve {
  size_t number;  // the index in its panel, which selects the color
  std::vector<std::vector<Position>> pieces;
};

// A short stroke in a curve's color, from `left` to the right.
struct LegendMark {
  Position left;
  size_t curve;
};

// The lines of one unit and their axes.
struct Panel {
  double left, top, right, bottom;  // the inside of the axes
  double end;                       // the start of the space below
  std::vector<double> value_ticks;  // y coordinates
  std::vector<double> time_ticks;   // x coordinates
  std::vector<Curve> curves;
  std::vector<LegendMark> legend;
  std::vector<Text> texts;
};

struct Layout {
  double height;  // the total height; may exceed that of a low canvas
  Text title;
  Text subtitle;
  std::vector<Panel> panels;
};

// The length of a LegendMark, in characters.
inline constexpr double kLegendMark = 2;

// Returns the number of panels: one per unit.
size_t PanelCount(const Chart& chart);

// Requires that the chart has at least one point.
Layout MakeLayout(const Chart& chart, const Canvas& canvas);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PLOT_LAYOUT_H_
