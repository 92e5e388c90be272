// The values of a chart as CSV, with the columns of the command line's
// `query --format csv`.

import type { LiveSeries } from './live_series.ts';
import { fullPath } from './series_label.ts';
import { toSpreadsheetTime } from './times.ts';
import type { Series } from './wire.ts';

const HEADER = 'machine,path,time,value,status,unit,cause,breaks,coverage,presence';

// A field that begins like a formula is shown as text by spreadsheets, because
// names come from the machines of the fleet.
function field(text: string): string {
  const safe = /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function toCsv(
  lines: readonly { series: Series; values: LiveSeries }[], from: number, to: number,
): string {
  const rows: string[] = [];
  const labelNames = [...new Set(lines.flatMap(({ series }) => Object.keys(series.labels ?? {})))].sort();
  rows.push([HEADER, ...labelNames.map((name) => field(`label:${name}`))].join(','));
  for (const { series, values } of lines) {
    const path = field(series.path ?? fullPath(series));
    const labels = labelNames.map((name) => field(series.labels?.[name] ?? ''));
    for (let i = values.lowerBound(from); i < values.length; ++i) {
      const value = values.at(i);
      if (value.time > to) break;
      const isPlain = value.breaks === 0 && value.coverage >= 1;
      rows.push([
        field(series.machine ?? ''), path, toSpreadsheetTime(value.time), value.value ?? '',
        value.value === null ? value.status || 'gap' : 'ok', field(series.unit ?? ''), value.cause,
        isPlain ? '' : value.breaks, isPlain ? '' : rounded(value.coverage),
        value.presence >= 1 ? '' : rounded(value.presence), ...labels,
      ].join(','));
    }
  }
  return rows.join('\r\n') + '\r\n';
}

// Coverages are single-precision numbers.
function rounded(value: number): number {
  return Number(value.toPrecision(6));
}
