import assert from 'node:assert/strict';
import test from 'node:test';
import { formatNumber } from '../src/units.ts';
import { formatDuration, parseDuration, parseTime, roundDuration } from '../src/times.ts';

test('numbers are those of the command line', () => {
  // tests/aggregator/cli/numbers_test.cc
  const cases: [number, string, string][] = [
    [1536, 'B/s', '1.50 KiB/s'], [1023, 'B', '1,023 B'], [2 ** 31, 'B', '2 GiB'],
    [12.345, '%', '12.35 %'], [0.0042, '%', '0.004 %'], [0.00042, '%', '<0.001 %'],
    [-0.01, '%', '0.00 %'], [0, '%', '0.00 %'], [1361.4, '1/s', '1,361 1/s'],
    [656.84, '1/s', '656.8 1/s'], [0.0012, 's', '1.20 ms'], [3725, 's', '1h2m5s'],
    [0, 's', '0 s'], [1234567, '', '1,234,567'], [-2500.5, '', '-2,501'], [0.00012, '', '0.00012'],
    [0.0000012, '', '1.2e-06'],
  ];
  for (const [value, unit, text] of cases) assert.equal(formatNumber(value, unit), text);
});

test('durations are parsed and written', () => {
  assert.equal(parseDuration('1h30m'), 5_400_000);
  assert.equal(parseDuration('500ms'), 500);
  for (const wrong of ['', '5', 'h', '1h 30m', '-5m', '0s', '5x']) {
    assert.equal(parseDuration(wrong), undefined, wrong);
  }
  assert.equal(formatDuration(3_725_000), '1h2m5s');
  assert.equal(formatDuration(90_061_000), '25h1m1s');
  assert.equal(roundDuration(1501), 2000);
  assert.equal(roundDuration(700_000_000), 1_209_600_000);
});

test('times have the forms of the command line', () => {
  const now = Date.UTC(2026, 10, 27, 12, 0, 0);
  assert.equal(parseTime('2026-11-20T23:49:00+02:00', now, 'utc'), Date.UTC(2026, 10, 20, 21, 49));
  assert.equal(parseTime('2026-11-20 21:49', now, 'utc'), Date.UTC(2026, 10, 20, 21, 49));
  assert.equal(parseTime('2026-11-20', now, 'utc'), Date.UTC(2026, 10, 20));
  assert.equal(parseTime('11:30', now, 'utc'), Date.UTC(2026, 10, 27, 11, 30));
  assert.equal(parseTime('13:00', now, 'utc'), Date.UTC(2026, 10, 26, 13, 0));
  assert.equal(parseTime('-1h30m', now, 'utc'), now - 5_400_000);
  assert.equal(parseTime('1795211340', now, 'utc'), 1795211340000);
  assert.equal(parseTime('yesterday', now, 'utc'), undefined);
});
