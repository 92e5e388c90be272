// The lines of a chart: one panel for each unit. Of each unit, the largest
// lines are kept, as `fleetperf plot` does.

import { LiveSeries, Summary } from './live_series.ts';
import { fullPath, labelsOf } from './series_label.ts';
import { unitOf } from './units.ts';
import type { Series } from './wire.ts';

export interface Line {
  series: Series;
  values: LiveSeries;
  label: string;
  style: number; // the index of its color and dash
  isHidden: boolean;
  summary: Summary; // of the range that is drawn
}

export interface Panel {
  unit: string;
  counters: string; // of its lines
  lines: Line[];
}

// More cannot be told apart.
export const MAX_LINES = 12;

export function keyOf(series: Series): string {
  return JSON.stringify([series.machine, series.path, series.unit, series.instance, series.labels]);
}

export class ChartData {
  private readonly lines = new Map<string, Line>();
  // The styles of machines and instances: a machine has one color in all panels.
  private readonly styles = new Map<string, number>();
  private isSettled = false;
  leftOut = 0;
  panels: Panel[] = [];

  // Each unit has at most `maxLines` lines, and each line at most `maxValues`
  // values. `isFixed`: series that appear after the history are not shown.
  constructor(
    private readonly maxLines: number, private readonly maxValues: number,
    private readonly isFixed: boolean,
  ) {}

  lineOf(series: Series): LiveSeries | undefined {
    const key = keyOf(series);
    const known = this.lines.get(key);
    if (known !== undefined) return known.values;
    if (this.isSettled && (this.isFixed || this.countOf(series.unit) >= this.maxLines)) return undefined;
    const line: Line = {
      series, values: new LiveSeries(this.maxValues), label: '', style: 0, isHidden: false,
      summary: new Summary(),
    };
    this.lines.set(key, line);
    if (this.isSettled) this.arrange();
    else if (this.countOf(series.unit) >= 2 * this.maxLines) this.keepLargest(series.unit, key);
    return line.values;
  }

  // After the history: keeps the largest lines, and names and orders them.
  settle(): void {
    for (const unit of new Set([...this.lines.values()].map((line) => line.series.unit))) {
      this.keepLargest(unit, undefined);
    }
    this.isSettled = true;
    this.arrange();
  }

  newestTime(): number {
    let newest = -Infinity;
    for (const { values } of this.lines.values()) newest = Math.max(newest, values.newestTime);
    return newest;
  }

  // Paths that select exactly these lines.
  exactPaths(): string[] {
    return [...this.lines.values()].map((line) => fullPath(line.series));
  }

  get size(): number {
    return this.lines.size;
  }

  private countOf(unit: string | undefined): number {
    let count = 0;
    for (const line of this.lines.values()) if (line.series.unit === unit) ++count;
    return count;
  }

  private keepLargest(unit: string | undefined, newest: string | undefined): void {
    const sizes = [...this.lines]
      .filter(([key, line]) => line.series.unit === unit && key !== newest)
      .map(([key, line]) => ({ key, size: areaOf(line.values) }))
      .sort((a, b) => b.size - a.size);
    for (const { key } of sizes.slice(this.maxLines)) {
      this.lines.delete(key);
      ++this.leftOut;
    }
  }

  private arrange(): void {
    const byUnit = new Map<string, Line[]>();
    for (const line of this.lines.values()) {
      const unit = unitOf(line.series);
      const lines = byUnit.get(unit);
      if (lines === undefined) byUnit.set(unit, [line]);
      else lines.push(line);
    }
    const known = new Map(this.panels.map((panel) => [panel.unit, panel]));
    this.panels = [...byUnit].map(([unit, lines]) => {
      // Live lines keep their place and color.
      const before = known.get(unit)?.lines ?? [];
      const area = new Map(lines.map((line) => [line, areaOf(line.values)]));
      const added = lines.filter((line) => !before.includes(line))
        .sort((a, b) => (area.get(b) ?? 0) - (area.get(a) ?? 0));
      const ordered = [...before.filter((line) => lines.includes(line)), ...added];
      const labels = labelsOf(ordered.map((line) => line.series));
      ordered.forEach((line, i) => {
        line.label = labels[i];
      });
      this.assignStyles(ordered);
      const counters = [...new Set(ordered.map((line) => line.series.counter ?? ''))]
        .filter((name) => name !== '');
      return { unit, counters: counters.length > 3 ? '' : counters.join(', '), lines: ordered };
    });
  }

  // Lines of one panel differ.
  private assignStyles(lines: readonly Line[]): void {
    const used = new Set<number>();
    const others: Line[] = [];
    for (const line of lines) {
      const style = this.styles.get(identityOf(line.series));
      if (style === undefined || used.has(style)) {
        others.push(line);
      } else {
        used.add(style);
        line.style = style;
      }
    }
    let next = 0;
    for (const line of others) {
      while (used.has(next)) ++next;
      used.add(next);
      line.style = next;
      const identity = identityOf(line.series);
      if (!this.styles.has(identity)) this.styles.set(identity, next);
    }
  }
}

function identityOf(series: Series): string {
  return JSON.stringify([series.machine, series.instance, series.instanceIndex, series.labels]);
}

// The area under the line: an instance that was there for a moment is small,
// however high its values were.
function areaOf(values: LiveSeries): number {
  values.summarize(-Infinity, Infinity, all);
  return all.sum;
}

const all = new Summary();
