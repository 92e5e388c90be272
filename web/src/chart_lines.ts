// Draws lines from ring buffers onto a canvas, without an allocation for each
// value. A line is interrupted where values are missing, and that time is
// shaded; a break inside a window is a triangle that points to its value.

import type { Line } from './chart_data.ts';
import { gapsOf, LONGEST_SPACING } from './gaps.ts';
import type { LiveSeries } from './live_series.ts';
import { lineColor, lineDash, themeColor } from './palette.ts';

export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
  ratio: number; // canvas pixels for each CSS pixel
  from: number;
  to: number;
  min: number;
  max: number;
  step: number;
}

// Summarizes each line over the range, and returns the smallest and largest value
// through `into`, which starts as [0, 0]: axes include 0.
export function summarize(lines: readonly Line[], from: number, to: number, into: Float64Array): void {
  for (const line of lines) {
    line.values.summarize(from, to, line.summary);
    if (line.isHidden) continue;
    into[0] = Math.min(into[0], line.summary.min);
    into[1] = Math.max(into[1], line.summary.max);
  }
}

// Draws all lines; `focused` is drawn last and thicker.
export function drawLines(
  context: CanvasRenderingContext2D, lines: readonly Line[], plot: Plot, focused: Line | undefined,
): void {
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top, plot.width, plot.height);
  context.clip();
  const visible = lines.filter((line) => !line.isHidden);
  drawGaps(context, visible, plot);
  context.lineJoin = 'round';
  for (const line of visible) {
    if (line !== focused) drawLine(context, line, plot, 1.6, focused === undefined ? 1 : 0.45);
  }
  if (focused !== undefined && !focused.isHidden) drawLine(context, focused, plot, 2.6, 1);
  context.restore();
}

function drawLine(
  context: CanvasRenderingContext2D, line: Line, plot: Plot, width: number, alpha: number,
): void {
  const { values } = line;
  const color = lineColor(line.style);
  context.globalAlpha = alpha;
  context.strokeStyle = color;
  context.fillStyle = color;
  context.lineWidth = width * plot.ratio;
  context.setLineDash(lineDash(line.style).map((length) => length * plot.ratio));
  // The neighbors of the visible values belong to lines that cross the edges.
  const first = Math.max(0, values.lowerBound(plot.from) - 1);
  const last = Math.min(values.length, values.lowerBound(plot.to) + 1);
  context.beginPath();
  if (last - first > 2 * plot.width) traceDense(context, values, first, last, plot);
  else trace(context, values, first, last, plot);
  context.stroke();
  context.setLineDash([]);
  if (values.hasTrouble) drawBreaks(context, values, first, last, plot);
  context.globalAlpha = 1;
}

function longestSpacing(values: LiveSeries, plot: Plot): number {
  return LONGEST_SPACING * Math.max(values.spacing === Infinity ? 0 : values.spacing, plot.step);
}

function trace(
  context: CanvasRenderingContext2D, values: LiveSeries, first: number, last: number, plot: Plot,
): void {
  const longest = longestSpacing(values, plot);
  const perMs = plot.width / (plot.to - plot.from);
  const perUnit = plot.height / (plot.max - plot.min);
  const bottom = plot.top + plot.height;
  const dot = plot.ratio;
  const { timeColumn, valueColumn, firstPlace } = values;
  const end = firstPlace + last;
  let before = -Infinity;
  let isAlone = false;
  let x = 0;
  let y = 0;
  for (let place = firstPlace + first; place < end; ++place) {
    const value = valueColumn[place];
    const time = timeColumn[place];
    if (Number.isNaN(value)) {
      if (isAlone) context.rect(x - dot / 2, y - dot / 2, dot, dot);
      isAlone = false;
      before = -Infinity;
      continue;
    }
    x = plot.left + (time - plot.from) * perMs;
    y = bottom - (value - plot.min) * perUnit;
    if (time - before > longest) {
      // A value without neighbors is a dot.
      context.moveTo(x, y);
      isAlone = true;
    } else {
      context.lineTo(x, y);
      isAlone = false;
    }
    before = time;
  }
  if (isAlone) context.rect(x - dot / 2, y - dot / 2, dot, dot);
}

// With more values than pixels, draws the smallest and largest of each column.
function traceDense(
  context: CanvasRenderingContext2D, values: LiveSeries, first: number, last: number, plot: Plot,
): void {
  const longest = longestSpacing(values, plot);
  const perMs = plot.width / (plot.to - plot.from);
  const perUnit = plot.height / (plot.max - plot.min);
  const bottom = plot.top + plot.height;
  let column = NaN;
  let low = Infinity;
  let high = -Infinity;
  let before = -Infinity;
  let isNew = true;
  for (let i = first; i <= last; ++i) {
    const value = i < last ? values.value(i) : NaN;
    const time = i < last ? values.time(i) : Infinity;
    const x = Math.floor(plot.left + (time - plot.from) * perMs);
    const isGap = Number.isNaN(value) || time - before > longest;
    if ((x !== column || isGap) && low !== Infinity) {
      const y = bottom - (low - plot.min) * perUnit;
      if (isNew) context.moveTo(column, y);
      else context.lineTo(column, y);
      context.lineTo(column, bottom - (high - plot.min) * perUnit);
      isNew = isGap;
      low = Infinity;
      high = -Infinity;
    } else if (isGap) {
      isNew = true;
    }
    column = x;
    if (Number.isNaN(value)) {
      before = -Infinity;
      continue;
    }
    before = time;
    if (value < low) low = value;
    if (value > high) high = value;
  }
}

function drawBreaks(
  context: CanvasRenderingContext2D, values: LiveSeries, first: number, last: number, plot: Plot,
): void {
  const size = 4 * plot.ratio;
  for (let i = first; i < last; ++i) {
    if (!values.hasBreak(i)) continue;
    const value = values.value(i);
    if (Number.isNaN(value)) continue;
    const x = plot.left + ((values.time(i) - plot.from) / (plot.to - plot.from)) * plot.width;
    const y = plot.top + plot.height - ((value - plot.min) / (plot.max - plot.min)) * plot.height;
    // Above the value where there is no room below.
    const down = y + 3 * size > plot.top + plot.height ? -size : size;
    context.beginPath();
    context.moveTo(x, y + down);
    context.lineTo(x - size, y + 3 * down);
    context.lineTo(x + size, y + 3 * down);
    context.closePath();
    context.fill();
  }
}

const STRIP = 5; // CSS pixels of a line's gaps at the bottom
const MAX_STRIPS = 6;

// Gaps of the only line, or of all lines, are shaded over the whole height.
// Those of single lines are strips of their color at the bottom.
function drawGaps(context: CanvasRenderingContext2D, lines: readonly Line[], plot: Plot): void {
  const xOf = (time: number): number =>
    plot.left + ((Math.min(Math.max(time, plot.from), plot.to) - plot.from) / (plot.to - plot.from)) * plot.width;
  const all = lines.map((line) => gapsOf(line.values, plot.from, plot.to, plot.step));
  if (all.length === 0 || all.every((gaps) => gaps.length === 0)) return;
  const shared = all[0].filter((gap) => all.every((gaps) => gaps.some(
    (other) => other.from <= gap.from + plot.step && other.to >= gap.to - plot.step)));
  const ink = themeColor('--muted');
  for (const gap of shared) {
    const left = xOf(gap.from);
    const width = Math.max(xOf(gap.to) - left, plot.ratio);
    shade(context, left, width, plot, ink);
    drawCause(context, gap.cause, left, width, plot, ink);
  }
  let strip = 0;
  lines.forEach((line, i) => {
    const own = all[i].filter((gap) => !shared.some(
      (other) => other.from <= gap.from + plot.step && other.to >= gap.to - plot.step));
    if (own.length === 0 || strip >= MAX_STRIPS) return;
    const y = plot.top + plot.height - (strip + 1) * STRIP * plot.ratio;
    ++strip;
    context.fillStyle = lineColor(line.style);
    context.globalAlpha = 0.55;
    for (const gap of own) {
      const left = xOf(gap.from);
      context.fillRect(left, y, Math.max(xOf(gap.to) - left, plot.ratio), (STRIP - 1) * plot.ratio);
    }
    context.globalAlpha = 1;
  });
}

function shade(
  context: CanvasRenderingContext2D, left: number, width: number, plot: Plot, ink: string,
): void {
  context.save();
  context.beginPath();
  context.rect(left, plot.top, width, plot.height);
  context.clip();
  context.fillStyle = ink;
  context.globalAlpha = 0.08;
  context.fillRect(left, plot.top, width, plot.height);
  // Hatched, so that it differs from a grid without color, too.
  context.globalAlpha = 0.3;
  context.strokeStyle = ink;
  context.lineWidth = plot.ratio;
  const distance = 9 * plot.ratio;
  context.beginPath();
  for (let x = Math.floor((left - plot.height) / distance) * distance; x < left + width; x += distance) {
    context.moveTo(x, plot.top + plot.height);
    context.lineTo(x + plot.height, plot.top);
  }
  context.stroke();
  context.restore();
}

function drawCause(
  context: CanvasRenderingContext2D, cause: string, left: number, width: number, plot: Plot, ink: string,
): void {
  const text = cause.replaceAll('_', ' ');
  context.font = `${11 * plot.ratio}px system-ui, sans-serif`;
  const size = context.measureText(text).width + 8 * plot.ratio;
  const thickness = 18 * plot.ratio;
  if (width < thickness) return;
  context.save();
  context.translate(left + width / 2, plot.top + thickness);
  // Narrow gaps are named from top to bottom.
  if (size > width) {
    context.translate(0, size / 2);
    context.rotate(Math.PI / 2);
  }
  context.fillStyle = themeColor('--surface');
  context.globalAlpha = 0.85;
  context.fillRect(-size / 2, -thickness / 2, size, thickness);
  context.globalAlpha = 1;
  context.fillStyle = ink;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(text, 0, 0);
  context.restore();
}
