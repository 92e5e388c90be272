// The machines of the fleet with one value each: filtered and sorted. Values
// are in typed arrays, because 10,000 arrive together.

import type { FleetSort } from './address.ts';
import { unitOf } from './units.ts';
import { secondsOf, type Machine, type Points, type Series } from './wire.ts';

// In the order in which they need attention. The words are the command line's:
// a machine that is not connected is missing if it is expected, else away; not
// here if it is expected, and may be connected to another aggregator. One that
// is connected is idle if it has sent no sample since.
export const STATES = ['missing', 'late', 'idle', 'away', 'notHere', 'up'] as const;
export type State = (typeof STATES)[number];

export const STATE_TEXTS: Record<State, string> = {
  missing: 'missing', late: 'late', idle: 'connected, no new samples', away: 'away', notHere: 'not here',
  up: 'connected',
};

// A lag below this comes from batching.
const LATE_SECONDS = 5;

export interface MachineEntry {
  name: string;
  state: State;
  lag: number; // seconds
  newestSample: number; // ms; NaN: none
  machine: Machine;
  words: string; // for the filter, in lower case
}

export function isConnected(state: State): boolean {
  return state !== 'missing' && state !== 'away' && state !== 'notHere';
}

export function stateOf(machine: Machine): State {
  if (machine.connected === true) {
    if (secondsOf(machine.lag) >= LATE_SECONDS) return 'late';
    return machine.noNewSamples === true ? 'idle' : 'up';
  }
  if (machine.notHere === true) return 'notHere';
  return machine.expected === true ? 'missing' : 'away';
}

// Another agent of the machine's name was there in the last minutes.
export function conflictText(machine: Machine): string {
  return (machine.conflictingAddress ?? '') === '' ? '' : 'name conflict';
}

function entryOf(machine: Machine): MachineEntry {
  const labels = Object.entries(machine.labels ?? {}).map(([name, value]) => `${name}=${value}`).join(' ');
  const state = stateOf(machine);
  const name = machine.name ?? '';
  return {
    name, state, lag: secondsOf(machine.lag),
    newestSample: machine.newestSample === undefined ? NaN : Date.parse(machine.newestSample),
    machine,
    words: `${name} ${labels} ${STATE_TEXTS[state]} ${conflictText(machine)} ${machine.operatingSystem ?? ''}`.toLowerCase(),
  };
}

// Numbers inside names are compared by size: web-9 is before web-10. Comparing
// 10,000 names takes longer than a frame, so their order is kept.
const collator = new Intl.Collator('en', { numeric: true });

export class FleetModel {
  private entries: MachineEntry[] = [];
  private places = new Map<string, number>(); // by name
  private values = new Float64Array(0); // by place; NaN: none
  private times = new Float64Array(0);
  private ranks: Int32Array = new Int32Array(0); // in the order of names
  private machineOf = new Map<number, string>(); // by series id
  private seriesOf = new Map<string, Map<number, number>>(); // newest values of several instances
  private shownUnit = '';
  // The places of the machines shown, in order.
  shown: number[] = [];
  counts = noCounts();
  private filter = '';
  private sort: FleetSort = 'name';

  get size(): number {
    return this.entries.length;
  }

  get unit(): string {
    return this.shownUnit;
  }

  entry(place: number): MachineEntry {
    return this.entries[place];
  }

  // NaN if there is none now: the machine is not connected, or has sent none.
  value(place: number): number {
    const { state } = this.entries[place];
    return isConnected(state) ? this.values[place] : NaN;
  }

  time(place: number): number {
    return this.times[place];
  }

  // Replaces all machines; values stay with their names.
  setMachines(machines: readonly Machine[]): void {
    const entries = machines.map(entryOf);
    const values = new Float64Array(entries.length).fill(NaN);
    const times = new Float64Array(entries.length).fill(NaN);
    const places = new Map<string, number>();
    this.counts = noCounts();
    entries.forEach((entry, place) => {
      const before = this.places.get(entry.name);
      if (before !== undefined) {
        values[place] = this.values[before];
        times[place] = this.times[before];
      }
      places.set(entry.name, place);
      ++this.counts[entry.state];
    });
    const isSame = entries.length === this.entries.length &&
      entries.every((entry, place) => entry.name === this.entries[place].name);
    if (!isSame) this.ranks = ranksOf(entries);
    this.entries = entries;
    this.values = values;
    this.times = times;
    this.places = places;
    // Values may have arrived before the machines.
    for (const [name, series] of this.seriesOf) this.show(name, series, NaN);
    this.arrange();
  }

  // Forgets all values: another counter is chosen, or a new connection begins.
  clearValues(): void {
    this.values.fill(NaN);
    this.times.fill(NaN);
    this.machineOf.clear();
    this.seriesOf.clear();
    this.shownUnit = '';
  }

  addSeries(series: Series): void {
    this.machineOf.set(series.id ?? 0, series.machine ?? '');
    this.shownUnit = unitOf(series);
  }

  addPoints(points: Points): void {
    const id = points.series ?? 0;
    const name = this.machineOf.get(id);
    if (name === undefined || points.v.length === 0) return;
    let series = this.seriesOf.get(name);
    if (series === undefined) this.seriesOf.set(name, series = new Map<number, number>());
    series.set(id, points.v[points.v.length - 1] ?? NaN);
    this.show(name, series, points.t[points.t.length - 1]);
  }

  endSeries(id: number): void {
    const name = this.machineOf.get(id);
    this.machineOf.delete(id);
    if (name === undefined) return;
    const series = this.seriesOf.get(name);
    series?.delete(id);
    if (series !== undefined) this.show(name, series, NaN);
  }

  // Shows the machines that match all words, in this order.
  setOrder(filter: string, sort: FleetSort): void {
    this.filter = filter;
    this.sort = sort;
    this.arrange();
  }

  // Sorts again: after values have arrived, with the order by value.
  arrange(): void {
    const words = this.filter.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const places: number[] = [];
    this.entries.forEach((entry, place) => {
      if (words.every((word) => entry.words.includes(word))) places.push(place);
    });
    const byName = (a: number, b: number): number => this.ranks[a] - this.ranks[b];
    if (this.sort === 'name') places.sort(byName);
    else if (this.sort === 'value') places.sort((a, b) => this.compareValues(a, b) || byName(a, b));
    else places.sort((a, b) => this.compareStates(a, b) || byName(a, b));
    this.shown = places;
  }

  placeOf(name: string): number | undefined {
    return this.places.get(name);
  }

  // The largest value shown.
  largest(): number {
    let largest = 0;
    for (const place of this.shown) {
      const value = this.value(place);
      if (value > largest) largest = value;
    }
    return largest;
  }

  // Largest first; machines without values last.
  private compareValues(a: number, b: number): number {
    const left = this.value(a);
    const right = this.value(b);
    if (Number.isNaN(left)) return Number.isNaN(right) ? 0 : 1;
    return Number.isNaN(right) ? -1 : right - left;
  }

  private compareStates(a: number, b: number): number {
    const left = this.entries[a];
    const right = this.entries[b];
    return STATES.indexOf(left.state) - STATES.indexOf(right.state) || right.lag - left.lag;
  }

  // Of several instances, the largest value stands for the machine.
  private show(name: string, series: ReadonlyMap<number, number>, time: number): void {
    const place = this.places.get(name);
    if (place === undefined) return;
    let largest = NaN;
    for (const value of series.values()) {
      if (!Number.isNaN(value) && !(value <= largest)) largest = value;
    }
    this.values[place] = largest;
    if (!Number.isNaN(time)) this.times[place] = time;
  }
}

function noCounts(): Record<State, number> {
  return { missing: 0, late: 0, idle: 0, away: 0, notHere: 0, up: 0 };
}

function ranksOf(entries: readonly MachineEntry[]): Int32Array {
  const ranks = new Int32Array(entries.length);
  entries.map((_, place) => place)
    .sort((a, b) => collator.compare(entries[a].name, entries[b].name))
    .forEach((place, rank) => {
      ranks[place] = rank;
    });
  return ranks;
}
