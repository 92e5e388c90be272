// All machines, colored by a counter.

import { DEFAULT_FLEET, type FleetSort, type FleetView, type View } from './address.ts';
import { isAbort, listMachines, messageOf } from './api.ts';
import { axisFor } from './axis.ts';
import { h, replace, select, setText } from './dom.ts';
import { FleetCanvas } from './fleet_canvas.ts';
import { conflictText, FleetModel, STATES, STATE_TEXTS, type State } from './fleet_model.ts';
import { LiveBadge } from './live_badge.ts';
import type { Navigate, Page } from './page.ts';
import { HEAT_LEVELS, heatColor } from './palette.ts';
import { PathInput } from './path_input.ts';
import { currentZone, isDark } from './settings.ts';
import { Subscription } from './subscription.ts';
import { formatAge, formatDuration, formatTime } from './times.ts';
import { formatDecimals, formatNumber } from './units.ts';
import { VirtualTable, type TableModel } from './virtual_table.ts';
import type { Machine } from './wire.ts';

const DEFAULT_COUNTER = '\\Processor Information(_Total)\\% Processor Time';
const PRESETS: readonly (readonly [path: string, text: string])[] = [
  ['', 'Processor time'],
  ['\\Memory\\% Committed Bytes In Use', 'Memory committed'],
  ['\\Memory\\Available Bytes', 'Memory available'],
  ['\\PhysicalDisk(_Total)\\Disk Bytes/sec', 'Disk traffic'],
  ['\\Network Interface(*)\\Bytes Total/sec', 'Network traffic'],
  ['\\System\\Processor Queue Length', 'Processor queue'],
];

// Everybody who looks at the fleet has the same request, so the aggregator does
// the work once.
const INTERVAL = '10s';
const REFRESH_MS = 15_000;
// The list of a large fleet is megabytes long.
const LARGE_FLEET = 2000;
const LARGE_REFRESH_MS = 30_000;
const FILTER_QUIET_MS = 120;
const TIP_DISTANCE = 14;

const MARKS: Record<State, string> = { missing: '✕', late: '◥', idle: '◥', away: '▢', notHere: '▢', up: '●' };
const SORTS: readonly FleetSort[] = ['name', 'value', 'state'];

export class FleetPage implements Page {
  readonly element: HTMLElement;
  private readonly model = new FleetModel();
  private readonly canvas: FleetCanvas;
  private readonly table: VirtualTable;
  private readonly badge = new LiveBadge();
  private readonly counter: PathInput;
  private readonly preset: HTMLSelectElement;
  private readonly filter: HTMLInputElement;
  private readonly sort: HTMLSelectElement;
  private readonly tableButton: HTMLButtonElement;
  private readonly counts: HTMLElement;
  private readonly scale: HTMLElement;
  private readonly problem: HTMLElement;
  private readonly counterProblem: HTMLElement;
  private readonly note: HTMLElement;
  private readonly tip: HTMLElement;
  private readonly closing = new AbortController();
  private subscription: Subscription | undefined;
  private subscribed: string | undefined;
  private refreshTimer = 0;
  private filterTimer = 0;

  constructor(private view: FleetView, private readonly navigate: Navigate) {
    const open = (name: string): void => this.navigate({ page: 'machine', name, since: '' });
    this.canvas = new FleetCanvas(this.model, {
      onOpen: open,
      onPoint: (place, x, y) => this.showTip(place, x, y),
    });
    this.table = new VirtualTable('Machines', {
      onOpen: (row) => open(this.model.entry(this.model.shown[row]).name),
      onSort: (column) => {
        const sort = (['name', 'state', 'value'] as const)[column];
        if (sort !== undefined) this.go({ sort });
      },
    });
    this.counter = new PathInput('', 'Counter that colors the machines', DEFAULT_COUNTER, () => {
      const path = this.counter.input.value.trim();
      this.go({ counter: path === DEFAULT_COUNTER ? '' : path });
    });
    this.preset = select('Counters', [...PRESETS, ['other', 'Other']], '', (value) => {
      if (value === 'other') this.counter.input.focus();
      else this.go({ counter: value });
    });
    this.filter = h('input', {
      type: 'search', 'aria-label': 'Filter by name, label or state', placeholder: 'Filter: name, role=web, late',
      oninput: () => {
        window.clearTimeout(this.filterTimer);
        this.filterTimer = window.setTimeout(() => this.go({ filter: this.filter.value.trim() }, true), FILTER_QUIET_MS);
      },
    });
    this.sort = select('Sort', SORTS.map((sort) => [sort, `Sort by ${sort}`] as const), 'name',
      (value) => this.go({ sort: SORTS.find((sort) => sort === value) ?? 'name' }));
    this.tableButton = h('button', { type: 'button', onclick: () => this.go({ table: !this.view.table }) }, 'Table');
    this.counts = h('span', { class: 'fleet-line' });
    this.scale = h('span', { class: 'scale' });
    this.problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    this.counterProblem = h('p', { class: 'problem', role: 'alert', hidden: true });
    this.note = h('p', { class: 'empty', hidden: true });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.element = h('div', { class: 'fleet' },
      h('h1', { class: 'visually-hidden' }, 'Fleet'),
      h('div', { class: 'fleet-controls' },
        h('div', { class: 'choice' }, this.preset, this.counter.element), this.filter, this.sort, this.tableButton),
      h('div', { class: 'fleet-line' }, this.counts, h('span', { class: 'grow' }), this.badge.element, this.scale),
      this.problem, this.counterProblem, this.note, this.canvas.element, this.table.element, this.tip);
    this.update(view);
    void this.refresh();
  }

  update(view: View): void {
    if (view.page !== 'fleet') return;
    this.view = view;
    document.title = 'Fleet – fleetperf';
    const counter = view.counter === '' ? DEFAULT_COUNTER : view.counter;
    if (document.activeElement !== this.counter.input) this.counter.input.value = counter;
    if (document.activeElement !== this.filter) this.filter.value = view.filter;
    this.preset.value = PRESETS.some(([path]) => path === view.counter) ? view.counter : 'other';
    this.sort.value = view.sort;
    this.tableButton.setAttribute('aria-pressed', String(view.table));
    this.canvas.element.hidden = view.table;
    this.table.element.hidden = !view.table;
    this.model.setOrder(view.filter, view.sort);
    if (counter !== this.subscribed) this.subscribe(counter);
    this.show();
  }

  onSettings(): void {
    this.show();
  }

  destroy(): void {
    this.closing.abort();
    this.subscription?.close();
    window.clearTimeout(this.refreshTimer);
    window.clearTimeout(this.filterTimer);
    this.canvas.destroy();
    this.table.destroy();
  }

  private go(change: Partial<FleetView>, replace_ = false): void {
    this.navigate({ ...DEFAULT_FLEET, ...this.view, ...change }, replace_);
  }

  private async refresh(): Promise<void> {
    try {
      if (document.visibilityState === 'visible' || this.model.size === 0) {
        const machines: Machine[] = [];
        await listMachines({}, this.closing.signal, (page) => {
          machines.push(...page);
          // The first pages are shown while the others are read.
          if (machines.length > this.model.size) this.setMachines(machines);
        });
        this.setMachines(machines);
        this.problem.hidden = true;
      }
    } catch (error) {
      if (isAbort(error)) return;
      this.problem.hidden = false;
      setText(this.problem, messageOf(error));
    }
    if (this.closing.signal.aborted) return;
    this.refreshTimer = window.setTimeout(() => void this.refresh(),
      this.model.size > LARGE_FLEET ? LARGE_REFRESH_MS : REFRESH_MS);
  }

  private setMachines(machines: readonly Machine[]): void {
    this.model.setMachines(machines);
    this.show();
  }

  private showCounterProblem(text: string): void {
    this.counterProblem.hidden = text === '';
    setText(this.counterProblem, text);
  }

  private subscribe(path: string): void {
    this.subscription?.close();
    this.subscribed = path;
    this.model.clearValues();
    this.model.arrange();
    this.subscription = new Subscription({ paths: [path], interval: INTERVAL }, {
      onConnect: () => {
        this.model.clearValues();
        this.showCounterProblem('');
      },
      onState: (state) => {
        // The reason is long: names that are near.
        this.badge.show(state.kind === 'failed' ? { kind: 'off' } : state);
        this.showCounterProblem(state.kind === 'failed' ? state.reason : '');
      },
      onPart: (part) => {
        for (const series of part.series ?? []) this.model.addSeries(series);
        for (const points of part.points ?? []) this.model.addPoints(points);
        for (const id of part.ended ?? []) this.model.endSeries(id);
        if (part.points === undefined && part.ended === undefined) return;
        if (this.view.sort === 'value') this.model.arrange();
        this.show();
      },
    });
  }

  private show(): void {
    const { unit } = this.model;
    const end = unit === '%' ? Math.max(100, this.model.largest()) : axisFor(0, this.model.largest(), unit, 200).max;
    this.canvas.setScaleEnd(end);
    this.showScale(end);
    this.showCounts();
    const isEmpty = this.model.shown.length === 0;
    this.note.hidden = !isEmpty || this.model.size === 0;
    setText(this.note, 'No machine matches the filter.');
    if (this.view.table) this.table.setModel(this.tableModel());
    else this.canvas.update();
  }

  private showCounts(): void {
    const { counts, size, shown } = this.model;
    const all = `${formatDecimals(size, 0)} ${size === 1 ? 'machine' : 'machines'}`;
    const text = shown.length === size ? all : `${formatDecimals(shown.length, 0)} of ${all}`;
    replace(this.counts, h('strong', { role: 'status' }, text),
      ...STATES.filter((state) => counts[state] > 0 && state !== 'up').map((state) => {
        const isChosen = this.view.filter === STATE_TEXTS[state];
        return h('button', {
          type: 'button', class: 'count', 'aria-pressed': String(isChosen),
          title: isChosen ? 'Show all machines' : 'Show only these',
          onclick: () => this.go({ filter: isChosen ? '' : STATE_TEXTS[state] }),
        }, h('span', { class: `mark ${state}`, 'aria-hidden': 'true' }, MARKS[state]),
        `${counts[state]} ${STATE_TEXTS[state]}`);
      }));
  }

  private showScale(end: number): void {
    const text = `0 to ${formatNumber(end, this.model.unit)}`;
    const key = `${text} ${isDark() ? 'dark' : 'light'}`;
    if (this.scale.dataset.key === key) return;
    this.scale.dataset.key = key;
    const bar = h('canvas', { width: HEAT_LEVELS, height: 1, 'aria-hidden': 'true' });
    const context = bar.getContext('2d');
    for (let level = 0; context !== null && level < HEAT_LEVELS; ++level) {
      context.fillStyle = heatColor(level);
      context.fillRect(level, 0, 1, 1);
    }
    replace(this.scale, '0', bar, formatNumber(end, this.model.unit));
  }

  private tableModel(): TableModel {
    const { model, view } = this;
    return {
      columns: [
        { title: 'machine', ...(view.sort === 'name' && { sort: 'ascending' as const }) },
        { title: 'state', ...(view.sort === 'state' && { sort: 'ascending' as const }) },
        { title: 'value', isNumber: true, ...(view.sort === 'value' && { sort: 'descending' as const }) },
        { title: 'newest sample', isNumber: true },
        { title: 'labels' },
        { title: 'operating system' },
        { title: 'agent' },
      ],
      rowCount: model.shown.length,
      kind: (row) => `openable ${model.entry(model.shown[row]).state}`,
      cell: (row, column) => {
        const place = model.shown[row];
        const entry = model.entry(place);
        switch (column) {
          case 0: return entry.name;
          case 1: return this.stateText(place);
          case 2: return Number.isNaN(model.value(place)) ? '–' : formatNumber(model.value(place), model.unit);
          case 3: return Number.isNaN(entry.newestSample) ? 'never' : formatAge(Date.now() - entry.newestSample);
          case 4: return labelText(entry.machine);
          case 5: return entry.machine.operatingSystem ?? '';
          default: return entry.machine.agentVersion ?? '';
        }
      },
    };
  }

  private stateText(place: number): string {
    const { state, lag, machine } = this.model.entry(place);
    const text = state === 'late' ? `late by ${formatDuration(Math.round(lag) * 1000)}` : STATE_TEXTS[state];
    const conflict = conflictText(machine);
    return conflict === '' ? text : `${text}, ${conflict}`;
  }

  private showTip(place: number | undefined, x: number, y: number): void {
    this.tip.hidden = place === undefined;
    if (place === undefined) return;
    const entry = this.model.entry(place);
    const value = this.model.value(place);
    const time = this.model.time(place);
    const newest = Number.isNaN(entry.newestSample) ? ', never seen' : `, newest sample ${formatAge(Date.now() - entry.newestSample)}`;
    replace(this.tip, h('strong', {}, entry.name),
      h('div', { class: 'tip-value' }, Number.isNaN(value) ? 'no value' : formatNumber(value, this.model.unit)),
      !Number.isNaN(time) && h('div', { class: 'detail' }, `at ${formatTime(time, currentZone())}`),
      h('div', {}, h('span', { class: `mark ${entry.state}` }, MARKS[entry.state]), this.stateText(place) + newest),
      h('div', { class: 'detail' }, labelText(entry.machine)));
    const box = this.tip.getBoundingClientRect();
    const left = x + TIP_DISTANCE + box.width > window.innerWidth ? x - TIP_DISTANCE - box.width : x + TIP_DISTANCE;
    const top = y + TIP_DISTANCE + box.height > window.innerHeight ? y - TIP_DISTANCE - box.height : y + TIP_DISTANCE;
    this.tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }
}

function labelText(machine: Machine): string {
  return Object.entries(machine.labels ?? {}).sort().map(([name, value]) => `${name}=${value}`).join(' ');
}
