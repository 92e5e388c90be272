// The colors of lines: those by Okabe and Ito, which are distinguishable with
// color vision deficiencies and visible on black and on white.

#ifndef FLEETPERF_AGGREGATOR_CLI_PLOT_PALETTE_H_
#define FLEETPERF_AGGREGATOR_CLI_PLOT_PALETTE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace fleetperf::cli {

struct Color {
  uint32_t rgb;
  int terminal;  // the nearest of a terminal's 256 colors
};

inline constexpr Color kPalette[] = {{0x0072B2, 25},  {0xD55E00, 166},
                                     {0x009E73, 36},  {0xCC79A7, 175},
                                     {0xE69F00, 178}, {0x56B4E9, 74}};

inline const Color& ColorOf(size_t curve) {
  return kPalette[curve % std::size(kPalette)];
}

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PLOT_PALETTE_H_
