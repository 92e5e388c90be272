// The values of a panel as a table: a row for each time, newest first, and a
// column for each line.

import type { Panel } from './chart_data.ts';
import { valueText } from './legend.ts';
import { currentZone } from './settings.ts';
import { formatTime } from './times.ts';
import type { TableModel } from './virtual_table.ts';

export function valueTable(panel: Panel, from: number, to: number): TableModel {
  const times = new Set<number>();
  const lines = panel.lines.filter((line) => !line.isHidden);
  for (const { values } of lines) {
    for (let i = values.lowerBound(from); i < values.length && values.time(i) <= to; ++i) {
      times.add(values.time(i));
    }
  }
  const rows = [...times].sort((a, b) => b - a);
  return {
    columns: [
      { title: currentZone() === 'utc' ? 'time (UTC)' : 'time' },
      ...lines.map((line) => ({ title: line.label, isNumber: true })),
    ],
    rowCount: rows.length,
    cell: (row, column) => {
      if (column === 0) return formatTime(rows[row], currentZone());
      const { values } = lines[column - 1];
      const index = values.lowerBound(rows[row]);
      if (index >= values.length || values.time(index) !== rows[row]) return '';
      return valueText(values.at(index), panel.unit);
    },
  };
}
