// The colours of lines: those of Okabe and Ito that can be told apart by people
// who see fewer colours, and that show on black and on white.

#ifndef FLEETPERF_AGGREGATOR_CLI_PLOT_PALETTE_H_
#define FLEETPERF_AGGREGATOR_CLI_PLOT_PALETTE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace fleetperf::cli {

struct Colour {
  uint32_t rgb;
  int terminal;  // the nearest of the 256 colours of terminals
};

inline constexpr Colour kPalette[] = {{0x0072B2, 25},  {0xD55E00, 166},
                                      {0x009E73, 36},  {0xCC79A7, 175},
                                      {0xE69F00, 178}, {0x56B4E9, 74}};

inline const Colour& ColourOf(size_t curve) {
  return kPalette[curve % std::size(kPalette)];
}

}  // namespace fleetperf::cli

#endif  // FLEETPERF_AGGREGATOR_CLI_PLOT_PALETTE_H_
