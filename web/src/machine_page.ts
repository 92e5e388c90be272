// One machine, live.

import { formatAddress, type MachineView, type View } from './address.ts';
import { isAbort, listMachines, messageOf } from './api.ts';
import { BarList } from './bar_list.ts';
import { Chart } from './chart.ts';
import type { Line, Panel } from './chart_data.ts';
import { escapeName } from './completion.ts';
import { displayText } from './display_text.ts';
import { h, replace, setText } from './dom.ts';
import { ExplainPanel } from './explain_panel.ts';
import { Feed } from './feed.ts';
import { STATE_TEXTS, stateOf } from './fleet_model.ts';
import { HeatStrip } from './heat_strip.ts';
import { LiveBadge, type BadgeState } from './live_badge.ts';
import { belongsTo, panelsOf, type MachinePanel } from './machine_panels.ts';
import { Notes } from './notes.ts';
import type { Navigate, Page } from './page.ts';
import { EMPTY_QUESTION } from './question.ts';
import { currentZone } from './settings.ts';
import { formatAge, formatTime, isStale, parseDuration, protoDuration, roundDuration,
  toRfc3339 } from './times.ts';
import { TopProcesses } from './top_processes.ts';
import { formatNumber, unitOf } from './units.ts';
import { secondsOf, type Machine } from './wire.ts';

const RANGES = ['5m', '15m', '1h', '6h', '24h', '7d'];
const DEFAULT_RANGE = '15m';
const POINTS = 450;
const REFRESH_MS = 10_000;
const TICK_MS = 1000;
// Taller on screens that have the room.
const CHART_HEIGHT = window.innerHeight > 1500 ? 320 : 190;
const HEAT_HEIGHT = CHART_HEIGHT + 50;
// A skew below this is not worth a line.
const SHOWN_SKEW = 2;
const LOW_SPACE = 10; // %

interface Shown {
  panel: MachinePanel;
  element: HTMLElement;
  update(from: number, to: number, step: number): void;
  destroy(): void;
}

export class MachinePage implements Page {
  readonly element: HTMLElement;
  private readonly badge = new LiveBadge();
  private live: BadgeState = { kind: 'connecting' };
  private readonly state: HTMLElement;
  private readonly facts: HTMLElement;
  private readonly ranges: HTMLElement;
  private readonly problem: HTMLElement;
  private readonly notes = new Notes();
  private readonly grid: HTMLElement;
  private readonly explanation = new ExplainPanel();
  private readonly closing = new AbortController();
  private processes: TopProcesses | undefined;
  private shown: Shown[] = [];
  private feed: Feed | undefined;
  private run = 0;
  private length = 0;
  private step = 1000;
  private startedAt = Date.now();
  private arrivedAt = 0;
  private refreshTimer = 0;
  private tickTimer = 0;

  constructor(private view: MachineView, private readonly navigate: Navigate) {
    this.state = h('span', { class: 'machine-state', role: 'status' });
    this.facts = h('dl', { class: 'machine-facts' });
    this.ranges = h('div', { class: 'segments', role: 'group', 'aria-label': 'Time to now' });
    this.problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    this.grid = h('div', { class: 'panels' });
    this.element = h('div', { class: 'machine' },
      h('div', { class: 'toolbar machine-head' }, h('h1', {}, view.name), this.state, h('span', { class: 'grow' }),
        this.badge.element, this.ranges),
      this.facts, this.problem, this.grid, this.notes.element);
    this.update(view);
    void this.refresh();
  }

  update(view: View): void {
    if (view.page !== 'machine') return;
    this.view = view;
    document.title = displayText(`${view.name} – fleetperf`);
    const chosen = view.since === '' ? DEFAULT_RANGE : view.since;
    replace(this.ranges, ...RANGES.map((since) => h('button', {
      type: 'button', 'aria-pressed': String(since === chosen),
      onclick: () => this.navigate({ ...this.view, since: since === DEFAULT_RANGE ? '' : since }),
    }, since)));
    this.length = parseDuration(chosen) ?? parseDuration(DEFAULT_RANGE) ?? 0;
    this.step = Math.max(1000, roundDuration(this.length / POINTS));
    void this.start();
  }

  onSettings(): void {
    this.update(this.view);
  }

  destroy(): void {
    this.stop();
    this.closing.abort();
    this.processes?.close();
    window.clearTimeout(this.refreshTimer);
  }

  private stop(): void {
    this.feed?.close();
    this.feed = undefined;
    window.clearInterval(this.tickTimer);
    this.shown.forEach((one) => one.destroy());
    this.shown = [];
    this.explanation.close();
  }

  private async refresh(): Promise<void> {
    try {
      if (document.visibilityState === 'visible') {
        let found: Machine | undefined;
        await listMachines({ machine: escapeName(this.view.name) }, this.closing.signal, (machines) => {
          found ??= machines.find((machine) => machine.name === this.view.name) ?? machines[0];
        });
        this.showMachine(found);
      }
    } catch (error) {
      if (isAbort(error)) return;
    }
    if (this.closing.signal.aborted) return;
    this.refreshTimer = window.setTimeout(() => void this.refresh(), REFRESH_MS);
  }

  private showMachine(machine: Machine | undefined): void {
    if (machine === undefined) {
      setText(this.state, 'unknown: no agent has connected for a machine of this name');
      return;
    }
    const state = stateOf(machine);
    this.state.dataset.state = state;
    const newest = machine.newestSample === undefined ? NaN : Date.parse(machine.newestSample);
    const age = Number.isNaN(newest) ? ', never seen' : `, newest sample ${formatAge(Date.now() - newest)}`;
    setText(this.state, STATE_TEXTS[state] + (state === 'up' ? '' : age));
    const facts: [string, string][] = [
      ['operating system', machine.operatingSystem ?? ''],
      ['labels', Object.entries(machine.labels ?? {}).sort().map(([name, value]) => `${name}=${value}`).join('  ')],
      ['agent', [machine.agent === machine.name ? '' : machine.agent ?? '', machine.agentVersion ?? ''].join(' ').trim()],
      ['address', (machine.address ?? '').replace(/^ipv[46]:/, '')],
      ['another agent of this name', (machine.conflictingAddress ?? '').replace(/^ipv[46]:/, '')],
      ['lag', secondsOf(machine.lag) > 0 ? formatNumber(secondsOf(machine.lag), 's') : ''],
      ['clock ahead by', Math.abs(secondsOf(machine.skew)) >= SHOWN_SKEW ? formatNumber(secondsOf(machine.skew), 's') : ''],
      ['lost ticks', countsText(machine.lostTicks)],
      ['limits broken', countsText(machine.limitsBroken)],
      ['rejected batches', machine.rejectedBatches ?? ''],
      ['certificate until', machine.certificateExpires === undefined ? ''
        : formatTime(Date.parse(machine.certificateExpires), currentZone()).slice(0, 10)],
    ];
    replace(this.facts, ...facts.filter(([, text]) => text !== '')
      .map(([name, text]) => h('div', {}, h('dt', {}, name), h('dd', {}, text))));
  }

  private async start(): Promise<void> {
    this.stop();
    const own = ++this.run;
    this.problem.hidden = true;
    this.notes.clear();
    if (this.processes === undefined) replace(this.grid, h('p', { class: 'busy' }, 'Reading …'));
    try {
      const panels = await panelsOf(this.view.name, Math.ceil((this.length / this.step) * 1.2) + 300);
      if (own !== this.run || this.closing.signal.aborted) return;
      if (panels.length === 0) {
        replace(this.grid, h('p', { class: 'empty' }, 'No counters of this machine are collected.'));
        return;
      }
      this.begin(panels);
    } catch (error) {
      if (isAbort(error) || own !== this.run) return;
      this.showProblem(error);
    }
  }

  private begin(panels: MachinePanel[]): void {
    this.processes ??= new TopProcesses(this.view.name);
    this.shown = panels.map((panel) => this.makePanel(panel));
    const [first, ...rest] = this.shown.map((one) => one.element);
    replace(this.grid, first, this.processes.element, ...rest);
    const paths = panels.flatMap((panel) => panel.paths);
    const step = protoDuration(this.step);
    this.startedAt = Date.now();
    let isHistoryRead = false;
    const draw = (): void => {
      this.arrivedAt = performance.now();
      if (isHistoryRead) this.draw();
    };
    this.feed = new Feed({ paths, since: protoDuration(this.length), step }, this.step, {
      lineOf: (series) => panels.find((panel) => belongsTo(series, panel.spec))?.data.lineOf(series),
      newestTime: () => Math.max(...panels.map((panel) => panel.data.newestTime())),
      onValues: draw,
    }, {
      onHistory: () => {
        isHistoryRead = true;
        panels.forEach((panel) => panel.data.settle());
        draw();
      },
      onError: (error) => this.showProblem(error),
      onState: (state) => {
        this.live = state;
        this.showLive();
      },
      onMissing: ({ path = '', reason = '' }) => this.notes.add(`${path}: ${reason}`),
      onMachines: ({ widened = 0, widenedInterval = '10s' }) => {
        if (widened > 0) this.notes.add(`Values arrive every ${widenedInterval} only, because too many machines are watched.`);
      },
      onLagged: (dropped) => this.notes.add(`${dropped} values were left out, because this browser reads too slowly.`),
    }, () => ({ catchUp: { paths, step }, subscribe: { paths, interval: step } }));
    this.tickTimer = window.setInterval(() => {
      this.showLive();
      if (performance.now() - this.arrivedAt > 2 * this.step) this.draw();
    }, TICK_MS);
  }

  private makePanel(panel: MachinePanel): Shown {
    const { spec, data } = panel;
    const first = (): Panel => data.panels[0] ?? { unit: '', counters: '', lines: [] };
    if (spec.kind === 'heat') {
      const strip = new HeatStrip(spec.title, HEAT_HEIGHT, 100);
      return {
        panel, element: strip.element, destroy: () => strip.destroy(),
        update: (from, to, step) => {
          strip.setLines(first().lines);
          strip.setRange(from, to, step);
        },
      };
    }
    if (spec.kind === 'bars') {
      const bars = new BarList();
      const element = h('section', { class: 'chart' }, this.titleOf(panel), bars.element);
      return {
        panel, element, destroy: () => element.remove(),
        update: () => bars.show(first().lines.map((line) => barOf(line)).sort((a, b) => a.part - b.part)),
      };
    }
    const chart = new Chart({ height: CHART_HEIGHT, hasLegend: true, title: spec.title }, {
      onZoom: (from, to) => this.explore(panel, from, to),
      onPick: (line, time) => {
        chart.element.after(this.explanation.element);
        void this.explanation.show(line, time, true);
      },
      onCursor: (time) => this.shown.forEach((one) => {
        if (one.element !== chart.element) charts.get(one.element)?.setCursor(time);
      }),
    });
    charts.set(chart.element, chart);
    chart.element.prepend(this.exploreLink(panel));
    let known: Panel | undefined;
    return {
      panel, element: chart.element, destroy: () => chart.destroy(),
      update: (from, to, step) => {
        if (first() !== known) chart.setPanel(known = named(first()));
        chart.setRange(from, to, step);
      },
    };
  }

  private titleOf(panel: MachinePanel): HTMLElement {
    return h('h3', { class: 'chart-title' }, panel.spec.title, this.exploreLink(panel));
  }

  private exploreLink(panel: MachinePanel): HTMLElement {
    const question = { ...EMPTY_QUESTION, paths: panel.paths, since: this.view.since };
    return h('a', {
      class: 'explore-link', 'aria-label': `Explore ${panel.spec.title}`,
      href: formatAddress({ page: 'explore', question, live: true, table: false }),
    }, 'Explore');
  }

  private explore(panel: MachinePanel, from: number, to: number): void {
    const question = {
      ...EMPTY_QUESTION, paths: panel.paths, start: toRfc3339(Math.round(from / 1000) * 1000),
      end: to >= Date.now() ? '' : toRfc3339(Math.round(to / 1000) * 1000),
    };
    this.navigate({ page: 'explore', question, live: false, table: false });
  }

  // A connection is not enough: the machine may be away.
  private showLive(): void {
    const newest = this.newestTime();
    this.badge.show(this.live.kind === 'live' && isStale(newest, this.arrivedAt)
      ? { kind: 'stale', age: formatAge(Date.now() - newest) } : this.live);
  }

  private newestTime(): number {
    return Math.max(...this.shown.map((one) => one.panel.data.newestTime()));
  }

  // Up to the newest value, or to now if none has arrived for a while: a machine
  // that died leaves a growing space.
  private draw(): void {
    const newest = this.newestTime();
    const silent = Math.max(0, performance.now() - this.arrivedAt - 2 * this.step);
    const to = Number.isFinite(newest) ? Math.max(newest + silent, this.startedAt) : Date.now();
    for (const one of this.shown) {
      one.element.hidden = one.panel.data.size === 0;
      one.update(to - this.length, to, this.step);
    }
  }

  private showProblem(error: unknown): void {
    this.problem.hidden = false;
    setText(this.problem, messageOf(error));
    if (this.shown.length === 0) this.grid.replaceChildren();
  }
}

// The title of the page names the machine, that of the panel its only line.
function named(panel: Panel): Panel {
  const [line] = panel.lines;
  if (panel.lines.length === 1) line.label = line.series.instance ?? line.series.counter ?? '';
  return panel;
}

const charts = new WeakMap<HTMLElement, Chart>();

function barOf(line: Line): { name: string; text: string; part: number; isLow: boolean } {
  const { values, series } = line;
  const value = values.length === 0 ? NaN : values.value(values.length - 1);
  return {
    name: series.instance ?? '', text: Number.isNaN(value) ? '–' : formatNumber(value, unitOf(series)),
    part: Number.isNaN(value) ? 0 : value / 100, isLow: value < LOW_SPACE,
  };
}

function countsText(counts: Record<string, string> | undefined): string {
  return Object.entries(counts ?? {}).map(([cause, count]) => `${count} ${cause.replaceAll('_', ' ')}`).join(', ');
}
