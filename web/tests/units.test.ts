import assert from 'node:assert/strict';
import test from 'node:test';
import { formatNumber, unitOf } from '../src/units.ts';
import { formatDuration, isStale, parseDuration, parseTime, roundDuration } from '../src/times.ts';

test('numbers are those of the command line', () => {
  // tests/cli/numbers_test.cc
  const cases: [number, string, string][] = [
    [1536, 'B/s', '1.50 KiB/s'], [1023, 'B', '1,023 B'], [2 ** 31, 'B', '2 GiB'],
    [12.345, '%', '12.35 %'], [0.0042, '%', '0.004 %'], [0.00042, '%', '<0.001 %'],
    [-0.01, '%', '0.00 %'], [0, '%', '0.00 %'], [1361.4, '1/s', '1,361 /s'],
    [656.84, '1/s', '656.8 /s'], [0.0000425, 's', '42.50 µs'], [0.0012, 's', '1.20 ms'], [3725, 's', '1h2m5s'],
    [0, 's', '0 s'], [93784, 's', '1d2h3m4s'], [1234567, '', '1,234,567'], [-2500.5, '', '-2,501'], [0.00012, '', '0.00012'],
    [0.0000012, '', '1.2e-06'],
  ];
  for (const [value, unit, text] of cases) assert.equal(formatNumber(value, unit), text);
});

test('numbers of hexadecimal types are those of the command line', () => {
  const RAWCOUNT = 0x10000, RAWCOUNT_HEX = 0x0, LARGE_RAWCOUNT_HEX = 0x100;
  assert.equal(unitOf({ unit: '', type: RAWCOUNT_HEX }), '0x');
  assert.equal(unitOf({ unit: '' }), '0x'); // JSON omits 0
  assert.equal(unitOf({ unit: '', type: LARGE_RAWCOUNT_HEX }), '0x');
  assert.equal(unitOf({ unit: '', type: RAWCOUNT }), '');
  assert.equal(unitOf({ unit: '', type: RAWCOUNT, attrib: '16' }), '0x');
  assert.equal(unitOf({ unit: '', type: RAWCOUNT_HEX, attrib: '4' }), '');
  assert.equal(unitOf({ unit: '', type: RAWCOUNT_HEX, attrib: '8' }), '');
  assert.equal(unitOf({ unit: 'B', type: RAWCOUNT }), 'B');
  assert.equal(formatNumber(48879, '0x'), '0xBEEF');
  assert.equal(formatNumber(0, '0x'), '0x0');
  assert.equal(formatNumber(2.5, '0x'), '2.50');
  assert.equal(unitOf({ unit: 'B', type: LARGE_RAWCOUNT_HEX }), '0x B');
  assert.equal(formatNumber(4096, '0x B'), '0x1000 B');
});

test('durations are parsed and written', () => {
  assert.equal(parseDuration('1h30m'), 5_400_000);
  assert.equal(parseDuration('500ms'), 500);
  for (const wrong of ['', '5', 'h', '1h 30m', '-5m', '0s', '5x']) {
    assert.equal(parseDuration(wrong), undefined, wrong);
  }
  assert.equal(formatDuration(3_725_000), '1h2m5s');
  assert.equal(formatDuration(90_061_000), '1d1h1m1s');
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

test('values are stale if they are old and no others arrive', () => {
  const old = Date.now() - 60_000, longAgo = performance.now() - 6000;
  assert.equal(isStale(old, longAgo), true);
  assert.equal(isStale(old, performance.now()), false); // a clock that is behind
  assert.equal(isStale(Date.now() - 20_000, longAgo), false); // a late batch
  assert.equal(isStale(-Infinity, longAgo), false); // there are none
});
