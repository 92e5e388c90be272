import assert from 'node:assert/strict';
import test from 'node:test';
import { ChartData } from '../src/chart_data.ts';
import { toCsv } from '../src/csv.ts';
import { STATE_TEXTS, stateOf } from '../src/fleet_model.ts';
import { LiveSeries } from '../src/live_series.ts';
import { LineSplitter, readLines } from '../src/ndjson.ts';
import { labelsOf } from '../src/series_label.ts';

test('lines are found in chunks of any size', async () => {
  const text = '{"a":"ü"}\n\n{"b":2}\n{"c":3}';
  for (const size of [1, 2, 3, 7, 100]) {
    const bytes = new TextEncoder().encode(text);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
        controller.close();
      },
    });
    const read: unknown[] = [];
    await readLines(body, (value) => read.push(value));
    assert.deepEqual(read, [{ a: 'ü' }, { b: 2 }, { c: 3 }]);
  }
});

test('a line that is not JSON ends the reading', async () => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('<html>\n'));
      controller.close();
    },
  });
  await assert.rejects(readLines(body, () => undefined), SyntaxError);
});

test('a splitter keeps nothing of a finished line', () => {
  const splitter = new LineSplitter();
  const lines: string[] = [];
  splitter.push('ab', (line) => lines.push(line));
  splitter.push('c\nd', (line) => lines.push(line));
  splitter.finish((line) => lines.push(line));
  splitter.finish((line) => lines.push(line));
  assert.deepEqual(lines, ['abc', 'd']);
});

test('the newest values are kept', () => {
  const series = new LiveSeries(100);
  for (let t = 0; t < 1000; ++t) series.append({ t: [t], v: [t * 2] });
  assert.equal(series.length, 100);
  assert.equal(series.time(0), 900);
  assert.equal(series.value(99), 1998);
  assert.equal(series.lowerBound(950), 50);
  assert.equal(series.lowerBound(2000), 100);
  assert.equal(series.nearest(950.4), 50);
  assert.equal(series.nearest(-5), 0);
  assert.equal(series.spacing, 1);
});

test('history and live values are joined without repetition', () => {
  const series = new LiveSeries(100);
  series.append({ t: [10, 20, 30], v: [1, null, 3], statuses: { 1: 'VALUE_STATUS_GAP' },
    causes: { 1: 'GAP_CAUSE_AGENT_RESTART' }, coverage: { 2: 0.5 }, breaks: { 2: 1 } });
  series.append({ t: [20, 30, 40], v: [9, 9, 4] });
  assert.equal(series.length, 4);
  assert.deepEqual(series.at(1), { time: 20, value: null, status: 'gap', cause: 'agent_restart', breaks: 0,
    coverage: 1, presence: 1 });
  assert.equal(series.at(2).coverage, 0.5);
  assert.equal(series.hasBreak(2), true);
  assert.equal(series.value(3), 4);
  assert.equal(series.trouble(1), 'agent_restart');
  assert.equal(series.isGap(1), true);
  series.append({ t: [50], v: [null], statuses: { 0: 'VALUE_STATUS_ZERO_DENOMINATOR' } });
  assert.equal(series.isGap(4), false);
});

test('CSV has the columns of the command line', () => {
  const values = new LiveSeries(10);
  values.append({ t: [0, 1000, 2500], v: [1.5, null, 7], statuses: { 1: 'VALUE_STATUS_GAP' },
    causes: { 1: 'GAP_CAUSE_RESET' }, breaks: { 2: 2 }, coverage: { 2: 0.25 } });
  const series = { machine: '=cmd', path: '\\Process V2(a,"b")\\% Processor Time', unit: '%' };
  assert.equal(toCsv([{ series, values }], 0, 5000), [
    'machine,path,time,value,status,unit,cause,breaks,coverage,presence',
    '\'=cmd,"\\Process V2(a,""b"")\\% Processor Time",1970-01-01 00:00:00.000,1.5,ok,%,,,,',
    '\'=cmd,"\\Process V2(a,""b"")\\% Processor Time",1970-01-01 00:00:01.000,,gap,%,reset,,,',
    '\'=cmd,"\\Process V2(a,""b"")\\% Processor Time",1970-01-01 00:00:02.500,7,ok,%,,2,0.25,',
    '',
  ].join('\r\n'));
});

test('names omit what lines have in common', () => {
  const a = { machine: 'web-1', path: '\\D(a)\\R', counterset: 'D', instance: 'a', counter: 'R' };
  const b = { machine: 'web-1', path: '\\D(b)\\R', counterset: 'D', instance: 'b', counter: 'R' };
  assert.deepEqual(labelsOf([a, b]), ['a', 'b']);
  assert.deepEqual(labelsOf([a]), ['\\\\web-1\\D(a)\\R']);
  const ended = { ...a, counterset: 'Process V2', instance: 'ended:0' };
  assert.deepEqual(labelsOf([ended, { ...ended, instance: 'sh:7' }]), ['(ended processes)', 'sh:7']);
  assert.deepEqual(labelsOf([a, { ...b, machine: 'web-2' }]), ['web-1 a', 'web-2 b']);
});

test('the largest lines are kept, and a machine has one color in all panels', () => {
  const data = new ChartData(2, 10, false);
  const add = (machine: string, unit: string, value: number): void => {
    data.lineOf({ machine, path: `\\\\A\\${unit}`, counter: unit, unit })?.append({ t: [1], v: [value] });
  };
  for (let i = 1; i <= 5; ++i) add(`m${i}`, '%', i);
  for (let i = 1; i <= 5; ++i) add(`m${i}`, 'B', i % 5);
  data.settle();
  assert.equal(data.leftOut, 6);
  const styles = data.panels.map((panel) => panel.lines.map((line) => `${line.series.machine} ${line.style}`));
  assert.deepEqual(styles, [['m5 0', 'm4 1'], ['m4 1', 'm3 0']]);
  assert.equal(data.lineOf({ machine: 'm9', unit: '%' }), undefined);
});

test('a connected machine without samples is not only connected', () => {
  assert.equal(STATE_TEXTS[stateOf({ connected: true })], 'connected');
  assert.equal(STATE_TEXTS[stateOf({ connected: true, noNewSamples: true })], 'connected, no new samples');
  assert.equal(STATE_TEXTS[stateOf({ connected: true, noNewSamples: true, lag: '60s' })], 'late');
  assert.equal(STATE_TEXTS[stateOf({ expected: true, noNewSamples: false })], 'missing');
  assert.equal(STATE_TEXTS[stateOf({ expected: true, notHere: true })], 'not here');
  assert.equal(STATE_TEXTS[stateOf({})], 'away');
});
