// The legend of a chart: a row for each line, with its value under the cursor
// (or its newest one), and its smallest, average and largest value in the range
// shown. A row is a button that hides the line.

import type { Line } from './chart_data.ts';
import { displayText } from './display_text.ts';
import { h, setText } from './dom.ts';
import type { Value } from './live_series.ts';
import { lineColor, lineDash } from './palette.ts';
import { fullPath } from './series_label.ts';
import { currentZone } from './settings.ts';
import { formatTime } from './times.ts';
import { formatNumber } from './units.ts';

interface Events {
  onHover(line: Line | undefined): void;
  onToggle(): void;
}

// A cell and its text: reading the text of an element is slow.
class Cell {
  readonly element: HTMLTableCellElement;
  private readonly node = document.createTextNode('');
  private text = '';

  constructor(kind: string) {
    this.element = h('td', { class: kind }, this.node);
  }

  set(text: string): void {
    if (text === this.text) return;
    this.text = text;
    this.node.data = displayText(text);
  }
}

interface Row {
  line: Line;
  element: HTMLTableRowElement;
  value: Cell;
  min: Cell;
  average: Cell;
  max: Cell;
  note: Cell;
}

const SVG = 'http://www.w3.org/2000/svg';

// Returns "12.3 %", or why there is no value.
export function valueText(value: Value, unit: string): string {
  if (value.value !== null) return formatNumber(value.value, unit);
  const status = (value.status || 'gap').replaceAll('_', ' ');
  return value.cause === '' ? status : `${status} (${value.cause.replaceAll('_', ' ')})`;
}

// Returns what a reader must know of a value: "2 breaks (reset), 82 % covered".
export function noteOf(value: Value): string {
  const notes: string[] = [];
  if (value.value === null) return '';
  if (value.breaks > 0) {
    const cause = value.cause === '' ? '' : ` (${value.cause.replaceAll('_', ' ')})`;
    notes.push(`${value.breaks} ${value.breaks === 1 ? 'break' : 'breaks'}${cause}`);
  }
  if (value.coverage < 1) notes.push(`${Math.min(99, Math.floor(value.coverage * 100))} % covered`);
  // Never 100 %: the instance was absent at least once.
  if (value.presence < 1) notes.push(`present ${Math.min(99.9, value.presence * 100).toFixed(1)} %`);
  return notes.join(', ');
}

export class Legend {
  readonly element: HTMLElement;
  private readonly body: HTMLTableSectionElement;
  private readonly time: HTMLElement;
  private rows: Row[] = [];
  private unit = '';

  constructor(private readonly events: Events) {
    this.time = h('th', { scope: 'col', class: 'legend-time' }, 'newest');
    this.body = h('tbody');
    this.element = h('div', { class: 'legend' },
      h('table', {},
        h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, h('span', { class: 'visually-hidden' }, 'line')), this.time,
          h('th', { scope: 'col' }, 'min'), h('th', { scope: 'col' }, 'avg'),
          h('th', { scope: 'col' }, 'max'), h('th', { scope: 'col', class: 'legend-note' }, ''))),
        this.body));
  }

  setLines(lines: readonly Line[], unit: string): void {
    this.unit = unit;
    this.rows = lines.map((line) => this.makeRow(line));
    this.body.replaceChildren(...this.rows.map((row) => row.element));
  }

  showValues(time: number | undefined, focused: Line | undefined, from: number, to: number): void {
    setText(this.time, time === undefined ? 'newest' : formatTime(Math.round(time / 1000) * 1000, currentZone()));
    for (const row of this.rows) this.showRow(row, time, focused, from, to);
  }

  private showRow(
    row: Row, time: number | undefined, focused: Line | undefined, from: number, to: number,
  ): void {
    const { values } = row.line;
    row.element.classList.toggle('focused', row.line === focused);
    let index = time === undefined ? values.length - 1 : values.nearest(time);
    // Far from any value, none is under the cursor.
    if (time !== undefined && index >= 0 &&
      Math.abs(values.time(index) - time) > Math.max(values.spacing * 2, (to - from) / 100)) {
      index = -1;
    }
    const value = index < 0 ? undefined : values.at(index);
    row.value.set(value === undefined ? '–' : valueText(value, this.unit));
    row.value.element.classList.toggle('no-value', value === undefined || value.value === null);
    row.note.set(value === undefined ? '' : noteOf(value));
    const { count, min, sum, max } = row.line.summary;
    row.min.set(count === 0 ? '–' : formatNumber(min, this.unit));
    row.average.set(count === 0 ? '–' : formatNumber(sum / count, this.unit));
    row.max.set(count === 0 ? '–' : formatNumber(max, this.unit));
  }

  private makeRow(line: Line): Row {
    const button = h('button', {
      type: 'button', class: 'legend-name', 'aria-pressed': String(!line.isHidden),
      title: `${fullPath(line.series)}\nClick to hide or show it`,
      onclick: () => {
        line.isHidden = !line.isHidden;
        button.setAttribute('aria-pressed', String(!line.isHidden));
        this.events.onToggle();
      },
      onfocus: () => this.events.onHover(line),
      onblur: () => this.events.onHover(undefined),
    }, swatch(line.style), h('span', { class: 'legend-label' }, line.label));
    const row: Row = {
      line, value: new Cell('legend-value'), min: new Cell('legend-range'),
      average: new Cell('legend-range'), max: new Cell('legend-range'), note: new Cell('legend-note'),
      element: h('tr', {
        onmouseenter: () => this.events.onHover(line),
        onmouseleave: () => this.events.onHover(undefined),
      }, h('th', { scope: 'row' }, button)),
    };
    for (const cell of [row.value, row.min, row.average, row.max, row.note]) {
      row.element.append(cell.element);
    }
    return row;
  }
}

// A piece of the line, with its dash.
function swatch(style: number): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'swatch');
  svg.setAttribute('viewBox', '0 0 28 10');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(SVG, 'line');
  for (const [name, value] of [['x1', 1], ['y1', 5], ['x2', 27], ['y2', 5], ['stroke-width', 3]]) {
    line.setAttribute(String(name), String(value));
  }
  line.setAttribute('stroke', lineColor(style));
  line.setAttribute('stroke-dasharray', lineDash(style).join(' '));
  svg.append(line);
  return svg;
}
