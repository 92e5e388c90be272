// The processes that use most, live.

import { formatAddress } from './address.ts';
import { BarList } from './bar_list.ts';
import { escapeName } from './completion.ts';
import { h, setText } from './dom.ts';
import { EMPTY_QUESTION } from './question.ts';
import { fullPath, instanceText } from './series_label.ts';
import { Subscription, type LiveState } from './subscription.ts';
import { formatAge, isStale } from './times.ts';
import { formatNumber, unitOf } from './units.ts';
import type { Series } from './wire.ts';

const COUNTERS = [
  ['% Processor Time', 'Processor'], ['Working Set', 'Memory'], ['IO Data Bytes/sec', 'I/O'],
] as const;
const TOP = 12;
const INTERVAL = '2s';
const CHECK_MS = 2000;

export class TopProcesses {
  readonly element: HTMLElement;
  private readonly bars = new BarList();
  private readonly buttons: HTMLElement;
  private readonly note: HTMLElement;
  private subscription: Subscription | undefined;
  private readonly series = new Map<number, Series>();
  private readonly values = new Map<number, number>();
  private state: LiveState = { kind: 'connecting' };
  private newest = NaN; // ms, by the machine's clock
  private arrivedAt = 0;
  private readonly timer = window.setInterval(() => this.showNote(), CHECK_MS);

  constructor(private readonly machine: string) {
    this.buttons = h('div', { class: 'segments', role: 'group', 'aria-label': 'Order' },
      ...COUNTERS.map(([counter, text]) => h('button', {
        type: 'button', 'data-counter': counter, onclick: () => this.follow(counter),
      }, text)));
    this.note = h('p', { class: 'summary' });
    this.element = h('section', { class: 'chart processes' },
      h('div', { class: 'toolbar' }, h('h3', { class: 'chart-title' }, 'Top processes'), h('span', { class: 'grow' }),
        this.buttons),
      this.bars.element, this.note);
    this.follow(COUNTERS[0][0]);
  }

  close(): void {
    this.subscription?.close();
    window.clearInterval(this.timer);
  }

  private follow(counter: string): void {
    for (const button of this.buttons.children) {
      button.setAttribute('aria-pressed', String(button.getAttribute('data-counter') === counter));
    }
    this.subscription?.close();
    this.bars.show([]);
    this.newest = NaN;
    const path = `\\\\${escapeName(this.machine)}\\Process V2(*)\\${counter}`;
    this.subscription = new Subscription({ paths: [path], top: TOP, interval: INTERVAL }, {
      onConnect: () => {
        this.series.clear();
        this.values.clear();
      },
      onState: (state) => {
        this.state = state;
        this.showNote();
      },
      onPart: (part) => {
        for (const series of part.series ?? []) this.series.set(series.id ?? 0, series);
        for (const { series = 0, t, v } of part.points ?? []) {
          this.newest = Math.max(Number.isNaN(this.newest) ? 0 : this.newest, t[t.length - 1]);
          this.arrivedAt = performance.now();
          const value = v[v.length - 1];
          if (value === null || value === undefined) this.values.delete(series);
          else this.values.set(series, value);
        }
        for (const id of part.ended ?? []) {
          this.series.delete(id);
          this.values.delete(id);
        }
        this.show();
      },
    });
  }

  private showNote(): void {
    setText(this.note, noteOf(this.state, this.newest, this.arrivedAt));
  }

  private show(): void {
    this.showNote();
    const ranked = [...this.values].filter(([id]) => this.series.has(id))
      .sort((a, b) => b[1] - a[1]).slice(0, TOP);
    const largest = ranked[0]?.[1] ?? 0;
    this.bars.show(ranked.map(([id, value]) => {
      const series = this.series.get(id) ?? {};
      const instance = instanceText(series);
      const colon = instance.lastIndexOf(':');
      const question = { ...EMPTY_QUESTION, paths: [fullPath(series)] };
      return {
        name: colon < 0 ? instance : instance.slice(0, colon),
        detail: colon < 0 ? '' : instance.slice(colon + 1),
        text: formatNumber(value, unitOf(series)),
        part: largest > 0 ? value / largest : 0,
        href: formatAddress({ page: 'explore', question, live: true, table: false }),
      };
    }));
  }
}

function noteOf(state: LiveState, newest: number, arrivedAt: number): string {
  switch (state.kind) {
    case 'failed': return state.reason;
    case 'waiting': return 'Not connected: these are the last values.';
    case 'live':
      if (Number.isNaN(newest)) return 'The machine has sent no values of processes: there is nothing to rank.';
      return isStale(newest, arrivedAt) ? `No current values: these are the newest, ${formatAge(Date.now() - newest)}.` : '';
    default: return '';
  }
}
