// Lines as rows of colors: many processors over time on little room.

import type { Line } from './chart_data.ts';
import { displayText } from './display_text.ts';
import { h, oncePerFrame, setText } from './dom.ts';
import { valueText } from './legend.ts';
import { heatColor, heatLevel, themeColor } from './palette.ts';
import { currentZone } from './settings.ts';
import { formatTime } from './times.ts';
import { unitOf } from './units.ts';

const LEFT = 52; // CSS pixels of the names
const ROW = { least: 3, most: 40 };
const collator = new Intl.Collator('en', { numeric: true });

export class HeatStrip {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly readout: HTMLElement;
  private readonly observer: ResizeObserver;
  private lines: Line[] = [];
  private from = 0;
  private to = 1;
  private step = 1000;
  private rowHeight = ROW.most;
  private readonly requestDraw = oncePerFrame(() => this.draw());

  // Values from 0 to `end` have colors.
  constructor(title: string, private readonly height: number, private readonly end: number) {
    this.canvas = h('canvas', {
      onpointermove: (event) => this.onMove(event as PointerEvent),
      onpointerleave: () => setText(this.readout, this.newest()),
    });
    this.readout = h('p', { class: 'summary' });
    this.element = h('section', { class: 'chart' }, h('h3', { class: 'chart-title' }, title),
      h('div', { class: 'heat-strip', role: 'img', 'aria-label': title }, this.canvas), this.readout);
    this.observer = new ResizeObserver(() => this.requestDraw());
    this.observer.observe(this.element);
  }

  destroy(): void {
    this.observer.disconnect();
    this.element.remove();
  }

  setLines(lines: readonly Line[]): void {
    this.lines = [...lines].sort((a, b) => collator.compare(a.series.instance ?? '', b.series.instance ?? ''));
    this.requestDraw();
  }

  setRange(from: number, to: number, step: number): void {
    this.from = from;
    this.to = to;
    this.step = step;
    this.requestDraw();
  }

  private draw(): void {
    const context = this.canvas.getContext('2d');
    const width = this.element.clientWidth - 24;
    if (context === null || width <= LEFT) return;
    const ratio = devicePixelRatio;
    const rows = Math.max(1, this.lines.length);
    this.rowHeight = Math.max(ROW.least, Math.min(ROW.most, Math.floor(this.height / rows)));
    const height = rows * this.rowHeight;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    context.scale(ratio, ratio);
    context.fillStyle = themeColor('--tile');
    context.fillRect(LEFT, 0, width - LEFT, height);
    const perMs = (width - LEFT) / (this.to - this.from);
    const gap = this.rowHeight > 6 ? 1 : 0;
    this.lines.forEach(({ values }, row) => {
      const cell = Math.max(1, (Math.max(this.step, values.spacing === Infinity ? 0 : values.spacing)) * perMs + 0.5);
      for (let i = values.lowerBound(this.from); i < values.length && values.time(i) <= this.to; ++i) {
        const value = values.value(i);
        if (Number.isNaN(value)) continue;
        context.fillStyle = heatColor(heatLevel(value / this.end));
        const x = LEFT + (values.time(i) - this.from) * perMs - cell;
        context.fillRect(Math.max(LEFT, x), row * this.rowHeight, cell - Math.max(0, LEFT - x), this.rowHeight - gap);
      }
    });
    this.drawNames(context);
    if (!this.canvas.matches(':hover')) setText(this.readout, this.newest());
  }

  private drawNames(context: CanvasRenderingContext2D): void {
    context.fillStyle = themeColor('--muted');
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const every = Math.ceil(12 / this.rowHeight);
    this.lines.forEach((line, row) => {
      if (row % every === 0) {
        context.fillText(displayText(line.series.instance ?? ''), 0, (row + 0.5) * this.rowHeight, LEFT - 6);
      }
    });
  }

  private newest(): string {
    let busiest: Line | undefined;
    let largest = -1;
    for (const line of this.lines) {
      const value = line.values.length === 0 ? NaN : line.values.value(line.values.length - 1);
      if (value > largest) {
        largest = value;
        busiest = line;
      }
    }
    if (busiest === undefined) return '';
    const newest = valueText(busiest.values.at(busiest.values.length - 1), unitOf(busiest.series));
    return `${this.lines.length} processors, the busiest now: ${busiest.series.instance ?? ''}, ${newest}`;
  }

  private onMove(event: PointerEvent): void {
    const line = this.lines[Math.floor(event.offsetY / this.rowHeight)];
    if (line === undefined || event.offsetX < LEFT) return;
    const part = (event.offsetX - LEFT) / (this.canvas.clientWidth - LEFT);
    const index = line.values.nearest(this.from + part * (this.to - this.from));
    if (index < 0) return;
    const value = line.values.at(index);
    setText(this.readout, `${line.series.instance ?? ''}: ${valueText(value, unitOf(line.series))} at ` +
      formatTime(value.time, currentZone()));
  }
}
