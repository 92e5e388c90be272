// The colors of charts. Lines have a contrast of at least 3 to the background
// and are distinguishable with color vision deficiencies. Those on the dark
// background, and the first four on the light one, are by Okabe and Ito.

#ifndef FLEETPERF_CLI_PLOT_PALETTE_H_
#define FLEETPERF_CLI_PLOT_PALETTE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace fleetperf::cli {

// A color on the light and on the dark background, as 0xRRGGBB.
struct Color {
  uint32_t light;
  uint32_t dark;
};

inline constexpr Color kBackground = {0xFFFFFF, 0x1A1A1A};
inline constexpr Color kGrid = {0xDDDDDD, 0x444444};
inline constexpr Color kInk = {0x333333, 0xDDDDDD};

struct LineColor {
  Color color;
  int terminal;  // one of a terminal's 256 colors
};

inline constexpr LineColor kPalette[] = {
    {{0x0072B2, 0x0072B2}, 25},  {{0xD55E00, 0xD55E00}, 166},
    {{0x009E73, 0x009E73}, 36},  {{0xCC79A7, 0xCC79A7}, 175},
    {{0x881111, 0xE69F00}, 178}, {{0x8844FF, 0x56B4E9}, 74}};

inline const LineColor& ColorOf(size_t curve) {
  return kPalette[curve % std::size(kPalette)];
}

}  // namespace fleetperf::cli

#endif  // FLEETPERF_CLI_PLOT_PALETTE_H_
