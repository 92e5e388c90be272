// Numbers as the command line writes them (cli/numbers.cc): bytes in
// powers of 1024, times in suitable units, large counts with separators, and no
// more digits than are significant.

import { formatDuration } from './times.ts';
import type { Series } from './wire.ts';

export interface Scale {
  divisor: number;
  unit: string;
}

const BYTE_PREFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

// The unit of plain numbers that are shown in hexadecimal, and the beginning of
// that of others: "0x B".
const HEX = '0x';

// Types and PERF_ATTRIB_ bits of winperf.h and perflib.h.
const LARGE_RAWCOUNT_HEX = 0x100;
const NO_GROUP_SEPARATOR = 4n, DISPLAY_AS_REAL = 8n, DISPLAY_AS_HEX = 16n;

// Returns the unit in which a series is shown, as the command line does
// (IsShownAsHex in cli/values.cc). An absent type is 0:
// PERF_COUNTER_RAWCOUNT_HEX.
export function unitOf(series: Series): string {
  const unit = series.unit ?? '';
  const type = series.type ?? 0;
  const attrib = BigInt(series.attrib ?? '0');
  if ((attrib & (NO_GROUP_SEPARATOR | DISPLAY_AS_REAL)) !== 0n) return unit;
  const isHex = type === 0 || type === LARGE_RAWCOUNT_HEX || (attrib & DISPLAY_AS_HEX) !== 0n;
  return isHex ? `${HEX} ${unit}`.trimEnd() : unit;
}

// Returns the scale that suits `largest`, the largest absolute value in `unit`.
export function scaleFor(largest: number, unit: string): Scale {
  if (unit === 's') return scaleOfSeconds(largest);
  if (unit === '1/s') return { divisor: 1, unit: '/s' };
  if (unit !== 'B' && unit !== 'B/s') return { divisor: 1, unit };
  let divisor = 1;
  let prefix = 0;
  while (largest / divisor >= 1024 && prefix + 1 < BYTE_PREFIXES.length) {
    divisor *= 1024;
    ++prefix;
  }
  return { divisor, unit: BYTE_PREFIXES[prefix] + unit };
}

function scaleOfSeconds(largest: number): Scale {
  if (largest >= 86400) return { divisor: 86400, unit: 'd' };
  if (largest >= 3600) return { divisor: 3600, unit: 'h' };
  if (largest >= 60) return { divisor: 60, unit: 'min' };
  if (largest === 0 || largest >= 1) return { divisor: 1, unit: 's' };
  return largest >= 1e-3 ? { divisor: 1e-3, unit: 'ms' } : { divisor: 1e-6, unit: 'µs' };
}

// Formats a number without its unit.
export function formatScaled(value: number, scale: Scale): string {
  if (scale.unit.startsWith(HEX) && value >= 0 && Number.isInteger(value)) {
    return HEX + value.toString(16).toUpperCase();
  }
  const number = value / scale.divisor;
  return scale.unit === '%' ? formatPercent(number) : formatPlain(number);
}

// Formats a number and its unit: "1.50 KiB/s". Times of a minute or more are
// "1h2m5s".
export function formatNumber(value: number, unit: string): string {
  if (unit === 's' && Math.abs(value) >= 60) return formatDuration(Math.trunc(value) * 1000);
  const scale = scaleFor(Math.abs(value), unit);
  const number = formatScaled(value, scale);
  const shown = scale.unit.startsWith(HEX) ? scale.unit.slice(HEX.length + 1) : scale.unit;
  return shown === '' ? number : `${number} ${shown}`;
}

// Formats a number with exactly this many decimals, and with separators.
export function formatDecimals(value: number, decimals: number): string {
  const text = Math.abs(value).toFixed(decimals);
  // toFixed writes numbers from 1e21 with an exponent.
  if (text.includes('e')) return value.toPrecision(4);
  const [whole, fraction] = text.split('.');
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return (value < 0 ? '-' : '') + separated + (fraction === undefined ? '' : `.${fraction}`);
}

// About four significant digits.
function formatPlain(value: number): string {
  const size = Math.abs(value);
  if (size > 0 && size < 0.005) return shortExponent(value);
  const decimals = Number.isInteger(value) || size >= 1000 ? 0 : size >= 100 ? 1 : 2;
  return formatDecimals(value, decimals);
}

// printf's "%.2g".
function shortExponent(value: number): string {
  if (Math.abs(value) >= 1e-4) return String(Number(value.toPrecision(2)));
  const [mantissa, exponent] = value.toExponential(1).split('e');
  const power = Math.abs(Number(exponent)).toString().padStart(2, '0');
  return `${Number(mantissa)}e-${power}`;
}

// Small percentages do not vanish: a process that used the processor is not
// idle.
function formatPercent(value: number): string {
  // Idle time and the clock are not read at the same instant, so that zero can
  // come out slightly negative.
  if (value > -0.05 && value <= 0) return '0.00';
  if (value > 0 && value < 0.001) return '<0.001';
  return formatDecimals(value, value > 0 && value < 0.01 ? 3 : 2);
}
