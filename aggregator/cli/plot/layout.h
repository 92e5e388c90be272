// Where everything in a chart goes. Nothing here draws: the same layout is for
// the cells of a terminal and for the points of a file.

#ifndef FLEETPERF_AGGREGATOR_CLI_PLOT_LAYOUT_H_
#define FLEETPERF_AGGREGATOR_CLI_PLOT_LAYOUT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "aggregator/cli/plot/chart.h"

namespace fleetperf::cli {

// What is drawn on. All in one unit of length, y downwards.
struct Canvas {
  double width;
  double height;
  double character;  // the width of one
  double line;       // the height of a line of text
  double margin;     // left empty on every side
  double axis;       // between a panel and what is written below it
};

struct Position {
  double x;
  double y;
};

enum class Align { kLeft, kCenter, kRight };

// One line; `at` is its left end, its middle or its right end, halfway up.
struct Text {
  Position at;
  Align align;
  std::string text;
};

// A line of the chart; where it has gaps, it is in several pieces.
struct Curve {
  size_t number;  // within its panel: its colour
  std::vector<std::vector<Position>> pieces;
};

// A short stroke in a curve's colour, from `left` to the right.
struct LegendMark {
  Position left;
  size_t curve;
};

// Lines of one unit and their axes.
struct Panel {
  double left, top, right, bottom;  // the inside of the axes
  double end;                       // what is below it begins here
  std::vector<double> value_ticks;  // their y
  std::vector<double> time_ticks;   // their x
  std::vector<Curve> curves;
  std::vector<LegendMark> legend;
  std::vector<Text> texts;
};

struct Layout {
  double height;  // what is taken: more than the canvas has, if that is low
  Text title;
  Text subtitle;
  std::vector<Panel> panels;
};

// The length of a LegendMark, in characters.
inline constexpr double kLegendMark = 2;

// How many panels a chart has: one for each unit.
size_t PanelCount(const Chart& chart);

// The chart must have a point.
Layout MakeLayout(const Chart& chart, const Canvas& canvas);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PLOT_LAYOUT_H_
