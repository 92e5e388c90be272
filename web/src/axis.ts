// Round numbers for the value axis.

import { formatScaled, scaleFor, type Scale } from './units.ts';

export interface Axis {
  min: number;
  max: number;
  splits: number[];
  scale: Scale;
}

const PIXELS_OF_SPLIT = 44;

// Returns an axis that includes 0 and both ends, with round numbers in the unit
// that suits them.
export function axisFor(min: number, max: number, unit: string, height: number): Axis {
  const isFlat = max <= min;
  const high = isFlat ? (unit === '%' ? 100 : 1) : max;
  const scale = scaleFor(Math.max(Math.abs(min), Math.abs(high)), unit);
  const count = Math.max(2, Math.floor(height / PIXELS_OF_SPLIT));
  const step = roundStep((high - min) / scale.divisor / count) * scale.divisor;
  const low = Math.floor(min / step) * step;
  const top = Math.ceil((high * (1 - 1e-9)) / step) * step;
  const splits: number[] = [];
  const number = Math.round((top - low) / step);
  for (let i = 0; i <= number; ++i) splits.push(low + i * step);
  return { min: low, max: top, splits, scale };
}

export function axisLabels(axis: Axis): string[] {
  return axis.splits.map((value) => {
    const text = formatScaled(value, axis.scale);
    // "20.00" among round numbers is "20".
    return text.includes('.') && !text.includes('e') ? text.replace(/0+$/, '').replace(/\.$/, '') : text;
  });
}

function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const digit = least / power;
  return (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 2.5 ? 2.5 : digit <= 5 ? 5 : 10) * power;
}
