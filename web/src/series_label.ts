// Names of series in one chart (cli/plot/labels.cc): machine,
// counterset, instance and counter without the parts that all have in common.

import type { Series } from './wire.ts';

export function fullPath(series: Series): string {
  const path = series.path ?? '';
  if (series.machine === undefined || series.machine === '') return path;
  return `\\\\${series.machine}${path.startsWith('\\') ? '' : ' '}${path}`;
}

// The instance of processes that have ended is none of them.
export function instanceText(series: Series): string {
  const isEnded = series.instance === 'ended:0' && (series.counterset ?? '').startsWith('Process');
  return isEnded ? '(ended processes)' : series.instance ?? '';
}

function labelsText(series: Series): string {
  return Object.entries(series.labels ?? {}).sort()
    .map(([name, value]) => `${name}=${value}`).join(' ');
}

function partsOf(series: Series): string[] {
  let instance = instanceText(series);
  if (series.instance !== undefined && (series.instanceIndex ?? 0) > 0) instance += `#${series.instanceIndex}`;
  return [series.machine ?? '', labelsText(series), series.counterset ?? '', instance,
    series.counter ?? ''];
}

// If short names made two equal or one empty, returns full ones.
export function labelsOf(series: readonly Series[]): string[] {
  const parts = series.map(partsOf);
  const differs = [0, 1, 2, 3, 4].map(
    (i) => parts.some((own) => own[i] !== parts[0][i]));
  const short = parts.map(
    (own) => own.filter((text, i) => differs[i] && text !== '').join(' '));
  if (new Set(short).size === short.length && !short.includes('')) return short;
  return series.map((one) => [fullPath(one), labelsText(one)].filter((text) => text !== '').join(' '));
}
