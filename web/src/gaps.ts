// The times in which lines have no values, and which of them may have values at
// another aggregator.

import { formatAddress } from './address.ts';
import type { Line } from './chart_data.ts';
import type { LiveSeries } from './live_series.ts';
import { EMPTY_QUESTION, isExpression } from './question.ts';
import { fullPath } from './series_label.ts';
import { toRfc3339 } from './times.ts';

export interface Gap {
  from: number; // ms since 1970
  to: number;
  cause: string;
}

export interface SharedGap {
  from: number;
  to: number;
  paths: string[]; // of the lines that have it, with their machines
}

// A longer time between two values, in spacings, is a gap.
export const LONGEST_SPACING = 2.5;

// The newest gaps, and the lines of each, that have links.
const MAX_GAPS = 3;
const MAX_PATHS = 12;

// Returns the times without values, one after the other.
export function gapsOf(values: LiveSeries, from: number, to: number, step: number): Gap[] {
  const gaps: Gap[] = [];
  if (!values.hasTrouble) return gaps;
  const spacing = Math.max(values.spacing === Infinity ? 0 : values.spacing, step);
  let open: Gap | undefined;
  for (let i = Math.max(0, values.lowerBound(from) - 1); i < values.length; ++i) {
    const time = values.time(i);
    const before = i > 0 ? values.time(i - 1) : time - spacing;
    if (before > to) break;
    if (Number.isNaN(values.value(i)) && !values.isGap(i)) continue;
    if (Number.isNaN(values.value(i))) {
      if (open === undefined) {
        open = { from: before, to: time, cause: values.trouble(i) };
        gaps.push(open);
      }
      open.to = time;
      // The cause that is known explains the others.
      if (values.trouble(i) !== 'no_samples' && values.trouble(i) !== 'gap') open.cause = values.trouble(i);
    } else {
      // Up to the value after it, where the line begins again.
      if (open !== undefined) open.to = time;
      open = undefined;
      if (time - before > LONGEST_SPACING * spacing) {
        gaps.push({ from: before, to: time, cause: values.trouble(i) || 'no_samples' });
      }
    }
  }
  return gaps;
}

// Returns the gaps in which no samples arrived, for an unknown reason: the
// newest ones, oldest first. Gaps of several lines that overlap are one.
export function sharedGaps(lines: readonly Line[], from: number, to: number, step: number): SharedGap[] {
  const gaps = lines.filter(isStored).flatMap((line) => gapsOf(line.values, from, to, step)
    .filter((gap) => gap.cause === 'no_samples').map((gap) => ({ ...gap, path: fullPath(line.series) })));
  const shared: SharedGap[] = [];
  for (const gap of gaps.sort((a, b) => a.from - b.from)) {
    const last = shared.at(-1);
    if (last === undefined || gap.from >= last.to) {
      shared.push({ from: gap.from, to: gap.to, paths: [gap.path] });
      continue;
    }
    last.to = Math.max(last.to, gap.to);
    if (last.paths.length < MAX_PATHS && !last.paths.includes(gap.path)) last.paths.push(gap.path);
  }
  return shared.slice(-MAX_GAPS);
}

// Returns the address of a chart of the gap's lines in its time.
export function addressOf(gap: SharedGap): string {
  const second = (ms: number): string => toRfc3339(Math.round(ms / 1000) * 1000);
  const question = { ...EMPTY_QUESTION, paths: gap.paths, start: second(gap.from), end: second(gap.to) };
  return formatAddress({ page: 'explore', question, live: false, table: false });
}

// Returns false for groups and results of arithmetic.
function isStored({ series }: Line): boolean {
  return !!series.machine && series.labels === undefined && !isExpression(series.path ?? '');
}
