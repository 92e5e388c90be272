// The colors of charts and tiles. Those of lines are the command line's
// (cli/plot/palette.h), by Okabe and Ito: they differ for people
// with color vision deficiencies. A seventh line has the first color, dashed.

import { isDark } from './settings.ts';

const LINES: readonly (readonly [light: string, dark: string])[] = [
  ['#0072b2', '#3b9ee0'], ['#d55e00', '#e8762b'], ['#009e73', '#1fbf92'],
  ['#b8528c', '#cc79a7'], ['#881111', '#e69f00'], ['#7733ee', '#b9a3ff'],
];
const DASHES: readonly number[][] = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

export function lineColor(line: number): string {
  return LINES[line % LINES.length][isDark() ? 1 : 0];
}

export function lineDash(line: number): number[] {
  return DASHES[Math.floor(line / LINES.length) % DASHES.length];
}

// The scale of tiles: YlGnBu on light and Viridis on dark backgrounds. Their
// lightness changes evenly, so they are scales without colors, too, and what is
// low is near the background.
type Rgb = readonly [red: number, green: number, blue: number];
const ON_LIGHT: readonly Rgb[] = [
  [255, 255, 217], [237, 248, 177], [199, 233, 180], [127, 205, 187], [65, 182, 196],
  [29, 145, 192], [34, 94, 168], [37, 52, 148], [8, 29, 88],
];
const ON_DARK: readonly Rgb[] = [
  [52, 38, 92], [65, 63, 133], [52, 94, 141], [41, 121, 142], [33, 148, 140], [38, 173, 129],
  [95, 201, 97], [173, 220, 48], [253, 231, 37],
];

export const HEAT_LEVELS = 64;

interface Heat {
  colors: string[];
  inks: string[]; // of text on the color
}

// As in WCAG, with the exponent 2.2.
function luminance(red: number, green: number, blue: number): number {
  return 0.2126 * (red / 255) ** 2.2 + 0.7152 * (green / 255) ** 2.2 + 0.0722 * (blue / 255) ** 2.2;
}

function heatOf(stops: readonly Rgb[]): Heat {
  const heat: Heat = { colors: [], inks: [] };
  for (let level = 0; level < HEAT_LEVELS; ++level) {
    const place = (level / (HEAT_LEVELS - 1)) * (stops.length - 1);
    const low = stops[Math.floor(place)];
    const high = stops[Math.min(Math.floor(place) + 1, stops.length - 1)];
    const [red, green, blue] = low.map(
      (channel, i) => Math.round(channel + (high[i] - channel) * (place - Math.floor(place))));
    heat.colors.push(`rgb(${red},${green},${blue})`);
    // The luminance at which black and white have the same contrast.
    heat.inks.push(luminance(red, green, blue) > 0.18 ? '#10151c' : '#ffffff');
  }
  return heat;
}

const onLight = heatOf(ON_LIGHT);
const onDark = heatOf(ON_DARK);

// `part` is from 0 to 1.
export function heatLevel(part: number): number {
  return Math.min(HEAT_LEVELS - 1, Math.max(0, Math.round(part * (HEAT_LEVELS - 1))));
}

export function heatColor(level: number): string {
  return (isDark() ? onDark : onLight).colors[level];
}

// The color of text on a tile.
export function heatInk(level: number): string {
  return (isDark() ? onDark : onLight).inks[level];
}

// Returns the value of a custom property of the style sheet. Asking the browser
// for a style takes longer than drawing a line, so values are kept for each
// theme.
const themeColors: Record<'light' | 'dark', Map<string, string>> = { light: new Map(), dark: new Map() };
export function themeColor(name: string): string {
  const kept = themeColors[isDark() ? 'dark' : 'light'];
  let color = kept.get(name);
  if (color === undefined) {
    color = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    if (color !== '') kept.set(name, color);
  }
  return color;
}
