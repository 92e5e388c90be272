// Draws charts with a terminal's characters.

#ifndef FLEETPERF_CLI_PLOT_TEXT_PLOT_H_
#define FLEETPERF_CLI_PLOT_TEXT_PLOT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/plot/chart.h"
#include "cli/terminal.h"

namespace fleetperf::cli {

struct TextStyle {
  Characters characters;
  bool colors;
};

// Returns the chart as lines of text, `width` characters wide and `rows` high,
// or higher if its panels need it. Curves are drawn in braille, eight dots per
// character, in different colors. Without Unicode, or for several curves
// without colors, each curve has a character of its own.
std::vector<std::string> DrawText(const Chart& chart, size_t width, size_t rows,
                                  const TextStyle& style);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PLOT_TEXT_PLOT_H_
