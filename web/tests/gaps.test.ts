import assert from 'node:assert/strict';
import test from 'node:test';
import { parseAddress } from '../src/address.ts';
import { ChartData } from '../src/chart_data.ts';
import { addressOf, sharedGaps } from '../src/gaps.ts';
import type { Series } from '../src/wire.ts';

const START = Date.parse('2026-11-30T12:00:00Z');

// Adds a line with one value a second for a minute, except those from `from` to
// `to`, which have a cause.
function addLine(data: ChartData, series: Series, from: number, to: number, cause: string): void {
  const t = Array.from({ length: 60 }, (_, i) => START + 1000 * i);
  const v = t.map((_, i) => (i >= from && i <= to ? null : i));
  const causes = Object.fromEntries(v.flatMap((value, i) => (value === null ? [[i, cause]] : [])));
  data.lineOf(series)?.append({ t, v, causes });
}

function gapsOf(data: ChartData): ReturnType<typeof sharedGaps> {
  data.settle();
  return sharedGaps(data.panels.flatMap((panel) => panel.lines), START, START + 60_000, 1000);
}

test('a gap leads to its lines and its time', () => {
  const data = new ChartData(12, 100, false);
  const cpu = '\\Processor Information(_Total)\\% Processor Time';
  addLine(data, { machine: 'web-1', path: cpu }, 10, 19, 'GAP_CAUSE_NO_SAMPLES');
  addLine(data, { machine: 'web-2', path: cpu }, 15, 24, 'GAP_CAUSE_NO_SAMPLES');
  addLine(data, { machine: 'web-3', path: cpu }, 40, 41, 'GAP_CAUSE_NO_SAMPLES');
  const gaps = gapsOf(data);
  // From the value before it to that after it.
  assert.deepEqual(gaps, [
    { from: START + 9000, to: START + 25_000, paths: [`\\\\web-1${cpu}`, `\\\\web-2${cpu}`] },
    { from: START + 39_000, to: START + 42_000, paths: [`\\\\web-3${cpu}`] },
  ]);
  const view = parseAddress(addressOf(gaps[0]));
  assert.ok(view.page === 'explore');
  assert.deepEqual(view.question.paths, gaps[0].paths);
  assert.equal(view.question.start, '2026-11-30T12:00:09Z');
  assert.equal(view.question.end, '2026-11-30T12:00:25Z');
});

test('only gaps of unknown cause may have samples elsewhere', () => {
  const data = new ChartData(12, 100, false);
  addLine(data, { machine: 'web-1', path: '\\System\\Threads' }, 10, 19, 'GAP_CAUSE_AGENT_RESTART');
  // A group, and arithmetic.
  addLine(data, { path: '\\System\\Threads', labels: { role: 'web' } }, 10, 19, 'GAP_CAUSE_NO_SAMPLES');
  addLine(data, { machine: 'web-1', path: '100 - \\System\\Threads' }, 10, 19, 'GAP_CAUSE_NO_SAMPLES');
  assert.deepEqual(gapsOf(data), []);
});

test('the newest gaps are shown', () => {
  const data = new ChartData(12, 100, false);
  for (const from of [1, 11, 21, 31]) {
    addLine(data, { machine: `web-${from}`, path: '\\System\\Threads' }, from, from + 5, 'GAP_CAUSE_NO_SAMPLES');
  }
  assert.deepEqual(gapsOf(data).map((gap) => gap.from), [10, 20, 30].map((second) => START + 1000 * second));
});
