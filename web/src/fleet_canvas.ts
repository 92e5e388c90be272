// The fleet as tiles on a canvas: only the tiles in view are drawn, and all in
// one pass by color, so that 10,000 take a few milliseconds.
//
// Keys: arrows, Home, End, Page Up and Page Down move the focus; Enter opens the
// machine. Screen readers get a listbox whose only element is the machine in
// focus.

import { displayText } from './display_text.ts';
import { h, oncePerFrame, setText } from './dom.ts';
import { isConnected, STATE_TEXTS, type FleetModel } from './fleet_model.ts';
import { HEAT_LEVELS, heatColor, heatInk, heatLevel, themeColor } from './palette.ts';
import { formatNumber } from './units.ts';

export interface FleetCanvasEvents {
  onOpen(name: string): void;
  // The machine under the pointer or in focus, and where it is.
  onPoint(place: number | undefined, x: number, y: number): void;
}

interface Layout {
  columns: number;
  width: number; // of a tile with its space
  height: number;
  gap: number; // the space
}

const SMALLEST = 9;
// Tiles below this size have a narrow space between them, and those of machines
// that are missing are filled: their cross is too small.
const SMALL = 16;
// From this width on, tiles have names; from the other, values, too.
const NAMED_WIDTH = 74;
const LARGEST = { width: 150, height: 58 };
const NO_VALUE = HEAT_LEVELS;

// Returns a layout in which `count` tiles fill the area; if they do not fit, the
// smallest tiles, and the area scrolls.
export function layoutFor(count: number, width: number, height: number): Layout {
  const fits = (tileWidth: number, tileHeight: number): boolean =>
    Math.ceil(count / Math.max(1, Math.floor(width / tileWidth))) * tileHeight <= height;
  for (let tile = LARGEST.width; tile >= NAMED_WIDTH; tile -= 2) {
    const tileHeight = Math.round(Math.min(LARGEST.height, Math.max(36, tile * 0.42)));
    if (fits(tile, tileHeight)) return fill(tile, tileHeight, width);
  }
  for (let tile = 44; tile > SMALLEST; --tile) if (fits(tile, tile)) return fill(tile, tile, width);
  return fill(SMALLEST, SMALLEST, width);
}

// Widens the tiles to fill the rows.
function fill(tileWidth: number, tileHeight: number, width: number): Layout {
  const columns = Math.max(1, Math.floor(width / tileWidth));
  const wider = tileWidth >= NAMED_WIDTH ? Math.floor(width / columns) : tileWidth;
  return { columns, width: wider, height: tileHeight, gap: tileWidth < SMALL ? 1 : 2 };
}

export class FleetCanvas {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly space: HTMLElement;
  private readonly option: HTMLElement;
  private readonly context: CanvasRenderingContext2D | null;
  private readonly observer: ResizeObserver;
  private layout: Layout = { columns: 1, width: SMALLEST, height: SMALLEST, gap: 1 };
  private focused = 0;
  private hovered = -1;
  private scaleEnd = 100;
  private readonly buckets: number[][] = Array.from({ length: HEAT_LEVELS + 1 }, () => []);
  readonly update = oncePerFrame(() => this.draw());

  constructor(private readonly model: FleetModel, private readonly events: FleetCanvasEvents) {
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.context = this.canvas.getContext('2d', { alpha: false });
    this.space = h('div', { class: 'fleet-space' });
    this.option = h('div', { role: 'option', id: 'fleet-option', class: 'visually-hidden', 'aria-selected': 'true' });
    this.element = h('div', {
      class: 'fleet-canvas', tabindex: 0, role: 'listbox', 'aria-label': 'Machines',
      'aria-activedescendant': 'fleet-option',
      onscroll: () => this.update(),
      onkeydown: (event) => this.onKey(event as KeyboardEvent),
      onfocus: () => this.pointAtFocus(),
      onblur: () => {
        this.events.onPoint(undefined, 0, 0);
        this.update();
      },
      onpointermove: (event) => this.onMove(event as PointerEvent),
      onpointerleave: () => this.hover(-1),
      onclick: (event) => {
        const index = this.indexAt(event as PointerEvent);
        if (index >= 0) this.open(index);
      },
    }, this.canvas, this.space, this.option);
    this.observer = new ResizeObserver(() => this.update());
    this.observer.observe(this.element);
  }

  destroy(): void {
    this.observer.disconnect();
    this.element.remove();
  }

  // The value that has the last color.
  setScaleEnd(end: number): void {
    this.scaleEnd = end;
    this.update();
  }

  private draw(): void {
    const { context, element, model } = this;
    if (context === null) return;
    const width = element.clientWidth;
    const height = element.clientHeight;
    if (width === 0 || height === 0) return;
    const ratio = devicePixelRatio;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const count = model.shown.length;
    this.layout = layoutFor(count, width, height);
    this.space.style.height = `${Math.ceil(count / this.layout.columns) * this.layout.height}px`;
    this.focused = Math.min(this.focused, Math.max(0, count - 1));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = themeColor('--background');
    context.fillRect(0, 0, width, height);
    this.drawTiles(context, element.scrollTop, height);
    this.describeFocus();
  }

  private drawTiles(context: CanvasRenderingContext2D, scrollTop: number, height: number): void {
    const { columns, width, height: tileHeight, gap } = this.layout;
    const first = Math.floor(scrollTop / tileHeight) * columns;
    const last = Math.min(this.model.shown.length,
      (Math.ceil((scrollTop + height) / tileHeight) + 1) * columns);
    for (const bucket of this.buckets) bucket.length = 0;
    for (let i = first; i < last; ++i) this.buckets[this.levelOf(i)].push(i);
    const empty = themeColor('--tile');
    this.buckets.forEach((bucket, level) => {
      if (bucket.length === 0) return;
      context.fillStyle = level === NO_VALUE ? empty : heatColor(level);
      for (const i of bucket) {
        context.fillRect(this.xOf(i), this.yOf(i) - scrollTop, width - gap, tileHeight - gap);
      }
    });
    this.drawStates(context, first, last, scrollTop);
    if (width >= NAMED_WIDTH) this.drawNames(context, first, last, scrollTop);
    const isFocused = document.activeElement === this.element;
    if (isFocused) this.outline(context, this.focused, scrollTop, themeColor('--focus'), 3);
    if (this.hovered >= 0) this.outline(context, this.hovered, scrollTop, themeColor('--ink'), 2);
  }

  // Machines that are not connected have no color of a value.
  private levelOf(index: number): number {
    const value = this.model.value(this.model.shown[index]);
    if (Number.isNaN(value)) return NO_VALUE;
    return heatLevel(this.scaleEnd === 0 ? 0 : value / this.scaleEnd);
  }

  // States have shapes: a cross, an empty frame, a corner.
  private drawStates(context: CanvasRenderingContext2D, first: number, last: number, scrollTop: number): void {
    const { width, height, gap } = this.layout;
    const danger = themeColor('--danger');
    const warn = themeColor('--warn-strong');
    const muted = themeColor('--muted');
    const surface = themeColor('--surface');
    // Of tiles with names, the mark is at their right end.
    const size = Math.min(height - gap, width - gap, 16);
    context.lineWidth = size > 12 ? 2 : 1.5;
    for (let i = first; i < last; ++i) {
      const { state } = this.model.entry(this.model.shown[i]);
      if (state === 'up') continue;
      const right = this.xOf(i) + width - gap;
      const top = this.yOf(i) - scrollTop;
      const inset = size > 12 ? 4 : 2;
      if (state === 'missing') {
        if (width < SMALL) {
          context.fillStyle = danger;
          context.fillRect(right - size, top, size, size);
        }
        context.strokeStyle = width < SMALL ? surface : danger;
        context.beginPath();
        context.moveTo(right - size + inset, top + inset);
        context.lineTo(right - inset, top + size - inset);
        context.moveTo(right - inset, top + inset);
        context.lineTo(right - size + inset, top + size - inset);
        context.stroke();
      } else if (!isConnected(state)) {
        context.strokeStyle = muted;
        context.setLineDash([2, 2]);
        context.strokeRect(this.xOf(i) + 0.75, top + 0.75, width - gap - 1.5, height - gap - 1.5);
        context.setLineDash([]);
      } else {
        context.fillStyle = warn;
        context.beginPath();
        context.moveTo(right, top);
        context.lineTo(right - size * 0.8, top);
        context.lineTo(right, top + size * 0.8);
        context.closePath();
        context.fill();
      }
    }
  }

  private drawNames(context: CanvasRenderingContext2D, first: number, last: number, scrollTop: number): void {
    const { width, height, gap } = this.layout;
    const ink = themeColor('--ink');
    const hasTwoRows = height >= 36;
    context.textBaseline = 'middle';
    for (let i = first; i < last; ++i) {
      const place = this.model.shown[i];
      const entry = this.model.entry(place);
      const level = this.levelOf(i);
      const x = this.xOf(i) + 7;
      const y = this.yOf(i) - scrollTop;
      const room = width - gap - 14;
      context.fillStyle = level === NO_VALUE ? ink : heatInk(level);
      context.font = `${height > 48 ? 13 : 11.5}px system-ui, sans-serif`;
      context.fillText(fitted(context, displayText(entry.name), entry.state === 'up' ? room : room - 12), x, y + height * (hasTwoRows ? 0.3 : 0.5));
      if (!hasTwoRows) continue;
      const value = this.model.value(place);
      const text = level !== NO_VALUE ? formatNumber(value, this.model.unit)
        : entry.state === 'up' ? '–' : STATE_TEXTS[entry.state];
      context.font = `600 ${height > 48 ? 14 : 12}px system-ui, sans-serif`;
      context.fillText(fitted(context, text, room), x, y + height * 0.68);
    }
  }

  private outline(
    context: CanvasRenderingContext2D, index: number, scrollTop: number, color: string, thickness: number,
  ): void {
    if (index >= this.model.shown.length) return;
    const { width, height, gap } = this.layout;
    // Two colors: one of them differs from any tile.
    for (const [stroke, line] of [[themeColor('--surface'), thickness + 2], [color, thickness]] as const) {
      context.strokeStyle = stroke;
      context.lineWidth = line;
      context.strokeRect(this.xOf(index) - 0.5, this.yOf(index) - scrollTop - 0.5, width - gap + 1, height - gap + 1);
    }
  }

  private xOf(index: number): number {
    return (index % this.layout.columns) * this.layout.width + this.layout.gap / 2;
  }

  private yOf(index: number): number {
    return Math.floor(index / this.layout.columns) * this.layout.height + this.layout.gap / 2;
  }

  private indexAt(event: PointerEvent): number {
    const box = this.element.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / this.layout.width);
    const row = Math.floor((event.clientY - box.top + this.element.scrollTop) / this.layout.height);
    const index = row * this.layout.columns + column;
    return column < this.layout.columns && index < this.model.shown.length ? index : -1;
  }

  private onMove(event: PointerEvent): void {
    const index = this.indexAt(event);
    if (index !== this.hovered) this.hover(index);
    if (index >= 0) this.events.onPoint(this.model.shown[index], event.clientX, event.clientY);
  }

  private hover(index: number): void {
    this.hovered = index;
    if (index < 0) this.events.onPoint(undefined, 0, 0);
    this.update();
  }

  private open(index: number): void {
    this.events.onOpen(this.model.entry(this.model.shown[index]).name);
  }

  private onKey(event: KeyboardEvent): void {
    const { columns, height } = this.layout;
    const page = columns * Math.max(1, Math.floor(this.element.clientHeight / height) - 1);
    const count = this.model.shown.length;
    const moves: Record<string, number> = {
      ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, PageDown: page, PageUp: -page,
      Home: -count, End: count,
    };
    if (event.key === 'Enter' && count > 0) {
      this.open(this.focused);
    } else if (event.key in moves) {
      this.focused = Math.max(0, Math.min(count - 1, this.focused + moves[event.key]));
      const top = Math.floor(this.focused / columns) * height;
      if (top < this.element.scrollTop) this.element.scrollTop = top;
      const bottom = this.element.scrollTop + this.element.clientHeight;
      if (top + height > bottom) this.element.scrollTop += top + height - bottom;
      this.pointAtFocus();
    } else {
      return;
    }
    event.preventDefault();
  }

  private pointAtFocus(): void {
    this.update();
    if (this.model.shown.length === 0 || !this.element.matches(':focus-visible')) return;
    const box = this.element.getBoundingClientRect();
    this.events.onPoint(this.model.shown[this.focused], box.left + this.xOf(this.focused) + this.layout.width,
      box.top + this.yOf(this.focused) - this.element.scrollTop + this.layout.height);
  }

  private describeFocus(): void {
    const place = this.model.shown[this.focused];
    if (place === undefined) return;
    const entry = this.model.entry(place);
    const value = this.model.value(place);
    this.option.setAttribute('aria-posinset', String(this.focused + 1));
    this.option.setAttribute('aria-setsize', String(this.model.shown.length));
    setText(this.option, `${entry.name}, ${STATE_TEXTS[entry.state]}, ` +
      `${Number.isNaN(value) ? 'no value' : formatNumber(value, this.model.unit)}`);
  }
}

// Cuts text that is wider than the room.
function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let length = text.length - 1;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > room) --length;
  return `${text.slice(0, length)}…`;
}
