// A chart of lines of one unit, with its legend. uPlot has the axes, the cursor
// and the selection; the lines are drawn from their ring buffers, whose times
// need not be equal.
//
// Keys, when the chart has the focus: arrows move the cursor from value to
// value; with Shift, they pan; + and - zoom; 0 shows the whole range again;
// Enter explains the value under the cursor; Up and Down choose the line.

import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { axisFor, axisLabels, type Axis } from './axis.ts';
import type { Line, Panel } from './chart_data.ts';
import { drawLines, summarize, type Plot } from './chart_lines.ts';
import { displayText } from './display_text.ts';
import { h, oncePerFrame, setText } from './dom.ts';
import { GapLinks } from './gap_links.ts';
import { Legend, valueText } from './legend.ts';
import { lineColor, themeColor } from './palette.ts';
import { currentZone } from './settings.ts';
import { formatClock, formatDate, formatTime } from './times.ts';

export interface ChartEvents {
  onZoom?(from: number, to: number): void;
  onReset?(): void;
  // A click on a value, or Enter.
  onPick?(line: Line, time: number): void;
  // The time under the cursor, in ms; undefined: it has left.
  onCursor?(time: number | undefined): void;
}

export interface ChartOptions {
  height: number;
  hasLegend: boolean;
  // The title if it is not that of the panel.
  title?: string;
}

// A pointer that moves by less is a click.
const CLICK_PIXELS = 4;
const ZOOM_FACTOR = 0.6;
const PAN_PART = 0.25;
const NEAR_PIXELS = 60;

export class Chart {
  readonly element: HTMLElement;
  private readonly holder: HTMLElement;
  private readonly heading: HTMLElement;
  private readonly spoken: HTMLElement;
  private readonly dot: HTMLElement;
  private readonly gaps = new GapLinks();
  private readonly legend: Legend | undefined;
  private readonly plot: uPlot;
  private readonly observer: ResizeObserver;
  private readonly bounds = new Float64Array(2);
  private readonly xs = [0, 1];
  private readonly nothing = [null, null];
  private axis: Axis = axisFor(0, 1, '', 200);
  private panel: Panel = { unit: '', counters: '', lines: [] };
  private from = 0;
  private to = 1;
  private step = 1000;
  private focused: Line | undefined;
  private cursorTime: number | undefined;
  private pressedAt = NaN;
  // Set while the cursor is moved by another chart.
  private isFollowing = false;
  readonly requestDraw = oncePerFrame(() => this.draw());

  constructor(private readonly options: ChartOptions, private readonly events: ChartEvents) {
    this.heading = h('h3', { class: 'chart-title' });
    this.spoken = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
    this.dot = h('div', { class: 'chart-dot', hidden: true });
    this.holder = h('div', {
      class: 'chart-plot', tabindex: 0, role: 'group', 'aria-roledescription': 'chart',
      onkeydown: (event) => this.onKey(event as KeyboardEvent),
    });
    this.legend = options.hasLegend
      ? new Legend({
        onHover: (line) => this.focus(line),
        onToggle: () => this.requestDraw(),
      })
      : undefined;
    this.element = h('section', { class: 'chart' }, this.heading, this.holder,
      this.gaps.element, this.legend?.element, this.spoken);
    this.plot = new uPlot(this.uplotOptions(), [this.xs, this.nothing], this.holder);
    this.plot.over.append(this.dot);
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.holder);
  }

  destroy(): void {
    this.observer.disconnect();
    this.plot.destroy();
    this.element.remove();
  }

  setPanel(panel: Panel): void {
    this.panel = panel;
    if (this.focused !== undefined && !panel.lines.includes(this.focused)) this.focused = undefined;
    const title = this.options.title ?? panel.counters;
    this.heading.textContent = displayText(title);
    if (panel.unit !== '') this.heading.append(h('span', { class: 'unit' }, ` ${this.unitText()}`));
    this.holder.setAttribute('aria-label',
      `${displayText(title) || 'Values'}, ${panel.lines.length} ${panel.lines.length === 1 ? 'line' : 'lines'}. ` +
      'Arrow keys read values, plus and minus zoom, Enter explains.');
    this.legend?.setLines(panel.lines, panel.unit);
    this.requestDraw();
  }

  setRange(from: number, to: number, step: number): void {
    this.from = from;
    this.to = to;
    this.step = step;
    this.requestDraw();
  }

  // Moves the cursor as that of another chart.
  setCursor(time: number | undefined): void {
    this.isFollowing = true;
    this.moveCursor(time);
    this.isFollowing = false;
  }

  // The picture of the chart, without its legend.
  get canvas(): HTMLCanvasElement {
    return this.plot.ctx.canvas;
  }

  get shown(): Panel {
    return this.panel;
  }

  get title(): string {
    return this.heading.textContent ?? '';
  }

  private draw(): void {
    this.bounds.fill(0);
    summarize(this.panel.lines, this.from, this.to, this.bounds);
    this.axis = axisFor(this.bounds[0], this.bounds[1], this.panel.unit,
      this.plot.over.clientHeight || this.options.height);
    this.xs[0] = this.from;
    this.xs[1] = this.to;
    // Draws at once, before the legend changes: text on a canvas waits for the
    // style of all elements.
    this.plot.batch(() => this.plot.setData([this.xs, this.nothing]));
    const unit = this.heading.querySelector('.unit');
    if (unit !== null) setText(unit, ` ${this.unitText()}`);
    this.gaps.show(this.panel.lines, this.from, this.to, this.step);
    this.showCursor();
  }

  private unitText(): string {
    return `in ${this.axis.scale.unit || this.panel.unit}`;
  }

  private uplotOptions(): uPlot.Options {
    const axisStyle = {
      stroke: () => themeColor('--muted'),
      grid: { stroke: () => themeColor('--grid'), width: 1 },
      ticks: { stroke: () => themeColor('--grid'), width: 1, size: 4 },
      font: '12px system-ui, sans-serif',
    };
    return {
      width: 300,
      height: this.options.height,
      ms: 1,
      tzDate: (time) => currentZone() === 'utc'
        ? uPlot.tzDate(new Date(time), 'Etc/UTC') : new Date(time),
      padding: [8, 8, 0, 0],
      legend: { show: false },
      series: [{}, { scale: 'y' }],
      scales: {
        x: { time: true, range: () => [this.from, this.to] },
        y: { range: () => [this.axis.min, this.axis.max] },
      },
      axes: [
        {
          ...axisStyle,
          space: 86,
          size: 42,
          values: (_plot, splits, _axis, _space, step) => timeLabels(splits, step),
        },
        {
          ...axisStyle,
          scale: 'y',
          size: (_plot, values) => 14 + 7.2 * Math.max(3, ...(values ?? []).map((text) => text.length)),
          splits: () => this.axis.splits,
          values: () => axisLabels(this.axis),
        },
      ],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
        bind: {
          dblclick: () => () => {
            this.events.onReset?.();
            return null;
          },
        },
      },
      hooks: {
        draw: [(plot) => this.drawLines(plot)],
        setCursor: [(plot) => this.onCursorMoved(plot)],
        setSelect: [(plot) => this.onSelect(plot)],
      },
    };
  }

  private drawLines(plot: uPlot): void {
    const { left, top, width, height } = plot.bbox;
    const area: Plot = {
      left, top, width, height, ratio: devicePixelRatio, from: this.from, to: this.to,
      min: this.axis.min, max: this.axis.max, step: this.step,
    };
    drawLines(plot.ctx, this.panel.lines, area, this.focused);
  }

  private resize(): void {
    const width = Math.floor(this.holder.clientWidth);
    if (width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: this.options.height });
      this.requestDraw();
    }
  }

  private listen(): void {
    const { over } = this.plot;
    over.addEventListener('mousedown', (event) => {
      this.pressedAt = event.clientX;
    });
    over.addEventListener('click', (event) => {
      if (Math.abs(event.clientX - this.pressedAt) > CLICK_PIXELS) return;
      const line = this.lineNear(event.offsetY) ?? undefined;
      if (line !== undefined) this.pick(line);
    });
    over.addEventListener('wheel', (event) => {
      // Without Ctrl, the wheel scrolls the page. Pinching has it set.
      if (!event.ctrlKey || this.events.onZoom === undefined) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? ZOOM_FACTOR : 1 / ZOOM_FACTOR,
        this.plot.posToVal(event.offsetX, 'x'));
    }, { passive: false });
    over.addEventListener('mouseleave', () => {
      this.focused = undefined;
      this.moveCursor(undefined);
      this.requestDraw();
    });
  }

  private onSelect(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width > CLICK_PIXELS) {
      this.events.onZoom?.(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'));
    }
    if (width > 0) plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  private onCursorMoved(plot: uPlot): void {
    if (this.isFollowing) return;
    const { left, top } = plot.cursor;
    // While the pointer is elsewhere, the keys move the cursor.
    if (left === undefined || left < 0 || top === undefined) return;
    this.cursorTime = plot.posToVal(left, 'x');
    const near = this.lineNear(top);
    if (near !== this.focused) {
      this.focused = near;
      this.requestDraw();
    }
    this.showCursor();
    this.events.onCursor?.(this.cursorTime);
  }

  private moveCursor(time: number | undefined): void {
    this.cursorTime = time;
    const left = time === undefined || time < this.from || time > this.to ? -10
      : this.plot.valToPos(time, 'x');
    const was = this.isFollowing;
    this.isFollowing = true;
    this.plot.setCursor({ left, top: left < 0 ? -10 : 0 });
    this.isFollowing = was;
    this.showCursor();
    if (!this.isFollowing) this.events.onCursor?.(time);
  }

  // Shows the values at the cursor: in the legend, and as a dot on the line.
  private showCursor(): void {
    this.legend?.showValues(this.cursorTime, this.focused, this.from, this.to);
    const line = this.focused;
    const index = line === undefined || this.cursorTime === undefined ? -1
      : line.values.nearest(this.cursorTime);
    const value = line === undefined || index < 0 ? NaN : line.values.value(index);
    this.dot.hidden = Number.isNaN(value);
    if (line === undefined || Number.isNaN(value)) return;
    const x = this.plot.valToPos(line.values.time(index), 'x');
    const y = this.plot.valToPos(value, 'y');
    this.dot.style.transform = `translate(${x}px, ${y}px)`;
    this.dot.style.backgroundColor = lineColor(line.style);
  }

  // The line whose value at the cursor is nearest to the height `y`.
  private lineNear(y: number): Line | undefined {
    if (this.cursorTime === undefined) return undefined;
    let nearest: Line | undefined;
    let least = NEAR_PIXELS;
    for (const line of this.panel.lines) {
      if (line.isHidden) continue;
      const index = line.values.nearest(this.cursorTime);
      if (index < 0) continue;
      const value = line.values.value(index);
      // In a gap, the bottom is the line's place.
      const place = Number.isNaN(value) ? this.plot.over.clientHeight : this.plot.valToPos(value, 'y');
      const distance = Math.abs(place - y);
      if (distance < least) {
        least = distance;
        nearest = line;
      }
    }
    const shown = this.panel.lines.filter((line) => !line.isHidden);
    return nearest ?? (shown.length === 1 ? shown[0] : undefined);
  }

  private focus(line: Line | undefined): void {
    this.focused = line;
    this.showCursor();
    this.requestDraw();
  }

  private pick(line: Line): void {
    if (this.cursorTime === undefined) return;
    const index = line.values.nearest(this.cursorTime);
    if (index >= 0) this.events.onPick?.(line, line.values.time(index));
  }

  private zoom(factor: number, around: number): void {
    this.events.onZoom?.(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  private pan(part: number): void {
    const distance = (this.to - this.from) * part;
    this.events.onZoom?.(this.from + distance, this.to + distance);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = this.cursorTime ?? (this.from + this.to) / 2;
    switch (event.key) {
      case 'ArrowLeft':
      case 'ArrowRight': {
        const sign = event.key === 'ArrowLeft' ? -1 : 1;
        if (event.shiftKey) this.pan(sign * PAN_PART);
        else this.stepCursor(sign);
        break;
      }
      case 'ArrowUp': this.stepLine(-1); break;
      case 'ArrowDown': this.stepLine(1); break;
      case 'Home': this.speakAt(this.from); break;
      case 'End': this.speakAt(this.to); break;
      case '+':
      case '=': this.zoom(ZOOM_FACTOR, middle); break;
      case '-': this.zoom(1 / ZOOM_FACTOR, middle); break;
      case '0': this.events.onReset?.(); break;
      case 'Enter': if (this.focused !== undefined) this.pick(this.focused); break;
      case 'Escape':
        this.focused = undefined;
        this.moveCursor(undefined);
        this.requestDraw();
        break;
      default: return;
    }
    event.preventDefault();
  }

  private stepCursor(sign: number): void {
    const line = this.focused ?? this.panel.lines.find((one) => !one.isHidden);
    if (line === undefined || line.values.length === 0) return;
    this.focused = line;
    const { values } = line;
    const index = this.cursorTime === undefined ? values.length - 1
      : Math.min(values.length - 1, Math.max(0, values.nearest(this.cursorTime) + sign));
    this.speakAt(values.time(index));
  }

  private stepLine(sign: number): void {
    const shown = this.panel.lines.filter((line) => !line.isHidden);
    if (shown.length === 0) return;
    const at = this.focused === undefined ? -1 : shown.indexOf(this.focused);
    this.focused = shown[(at + sign + shown.length) % shown.length];
    this.speakAt(this.cursorTime ?? this.to);
  }

  private speakAt(time: number): void {
    this.focused ??= this.panel.lines.find((line) => !line.isHidden);
    const line = this.focused;
    if (line === undefined) return;
    const index = line.values.nearest(time);
    if (index < 0) return;
    const at = line.values.time(index);
    this.moveCursor(at);
    this.requestDraw();
    setText(this.spoken,
      `${line.label}: ${valueText(line.values.at(index), this.panel.unit)}, ${formatTime(at, currentZone())}`);
  }
}

// Clock times; the date below the first one, and where it changes.
function timeLabels(splits: readonly number[], step: number): string[] {
  const zone = currentZone();
  let before = '';
  return splits.map((time) => {
    const date = formatDate(time, zone);
    const clock = formatClock(time, step, zone);
    const isNew = date !== before;
    before = date;
    return isNew && clock !== date ? `${clock}\n${date}` : clock;
  });
}
