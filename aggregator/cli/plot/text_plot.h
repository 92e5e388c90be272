// Charts in the characters of a terminal.

#ifndef FLEETPERF_AGGREGATOR_CLI_PLOT_TEXT_PLOT_H_
#define FLEETPERF_AGGREGATOR_CLI_PLOT_TEXT_PLOT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "aggregator/cli/plot/chart.h"
#include "aggregator/cli/terminal.h"

namespace fleetperf::cli {

struct TextStyle {
  Characters characters;
  bool colours;
};

// The chart as lines of text, `width` characters wide and `rows` high; higher
// if its panels need it. Curves are drawn in braille, eight dots a character,
// and told apart by colours; without colours, if there are several, or without
// Unicode, each has a character of its own.
std::vector<std::string> DrawText(const Chart& chart, size_t width, size_t rows,
                                  const TextStyle& style);

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PLOT_TEXT_PLOT_H_
