// The newest values of one series in typed arrays: appending a live value
// allocates nothing. The values are a contiguous part of the arrays, which moves
// on with each one; at the end of the arrays, it is copied to their begin. So
// loops over values are as fast as over plain arrays.

import type { Points } from './wire.ts';
import { plainEnum } from './wire.ts';

// Names of statuses and causes, by small numbers. 0 is "none".
const names: string[] = [''];
const numbers = new Map<string, number>([['', 0]]);

function numberOf(name: string | undefined): number {
  if (name === undefined) return 0;
  const known = numbers.get(name);
  if (known !== undefined) return known;
  // A number is one byte; the protocol has a few dozen names.
  if (names.length > 255) return 0;
  names.push(plainEnum(name));
  numbers.set(name, names.length - 1);
  return names.length - 1;
}

// A value with all that is known of it.
export interface Value {
  time: number; // ms since 1970, the end of its window
  value: number | null;
  status: string; // "" if there is a value
  cause: string; // "" if none is known
  breaks: number;
  coverage: number;
  presence: number;
}

// The values in a range of time.
export class Summary {
  count = 0; // without gaps
  min = Infinity;
  max = -Infinity;
  sum = 0;
}

const SMALLEST_CAPACITY = 64;

export class LiveSeries {
  private times: Float64Array;
  private values: Float64Array; // NaN: no value
  private statuses: Uint8Array;
  private causes: Uint8Array;
  private breaks: Uint32Array;
  private coverages: Float32Array;
  private presences: Float32Array;
  private start = 0;
  private count = 0;
  private shortest = Infinity;
  private isTroubled = false;

  // Keeps the newest `limit` values.
  constructor(private readonly limit: number) {
    const capacity = Math.min(SMALLEST_CAPACITY, 2 * limit);
    this.times = new Float64Array(capacity);
    this.values = new Float64Array(capacity);
    this.statuses = new Uint8Array(capacity);
    this.causes = new Uint8Array(capacity);
    this.breaks = new Uint32Array(capacity);
    this.coverages = new Float32Array(capacity);
    this.presences = new Float32Array(capacity);
  }

  get length(): number {
    return this.count;
  }

  // The shortest time between two values: a longer one is a gap.
  get spacing(): number {
    return this.shortest;
  }

  // Whether a value was ever missing, or had breaks: others need no search.
  get hasTrouble(): boolean {
    return this.isTroubled;
  }

  time(index: number): number {
    return this.times[this.place(index)];
  }

  // NaN if there is no value.
  value(index: number): number {
    return this.values[this.place(index)];
  }

  hasBreak(index: number): boolean {
    const place = this.place(index);
    return this.breaks[place] > 0;
  }

  // Whether samples are missing. Others without a value have samples that yield
  // none: a disk without transfers has no time of a transfer.
  isGap(index: number): boolean {
    const place = this.place(index);
    return this.causes[place] !== 0 || names[this.statuses[place]] === 'gap';
  }

  // The name of the cause, or else of the status; "" if all is well.
  trouble(index: number): string {
    const place = this.place(index);
    return names[this.causes[place]] || names[this.statuses[place]];
  }

  at(index: number): Value {
    const place = this.place(index);
    const value = this.values[place];
    return {
      time: this.times[place],
      value: Number.isNaN(value) ? null : value,
      status: names[this.statuses[place]],
      cause: names[this.causes[place]],
      breaks: this.breaks[place],
      coverage: this.coverages[place],
      presence: this.presences[place],
    };
  }

  get newestTime(): number {
    return this.count === 0 ? -Infinity : this.time(this.count - 1);
  }

  // Appends the values that are newer than the newest one. So history and live
  // values that overlap are joined without repetition.
  append(points: Points): void {
    const { t, v, statuses, causes, breaks, coverage, presence } = points;
    for (let i = 0; i < t.length; ++i) {
      if (!(t[i] > this.newestTime)) continue;
      const place = this.nextPlace(t[i]);
      const value = v[i];
      this.times[place] = t[i];
      if (value === null || (breaks?.[i] ?? 0) > 0) this.isTroubled = true;
      this.values[place] = value ?? NaN;
      this.statuses[place] = statuses === undefined ? 0 : numberOf(statuses[i]);
      this.causes[place] = causes === undefined ? 0 : numberOf(causes[i]);
      this.breaks[place] = breaks?.[i] ?? 0;
      this.coverages[place] = coverage?.[i] ?? 1;
      this.presences[place] = presence?.[i] ?? 1;
    }
  }

  // Removes the newest value: a window that was not over yet.
  dropNewest(): void {
    if (this.count > 0) --this.count;
  }

  // Replaces `summary` by that of the values from `from` to `to`.
  summarize(from: number, to: number, summary: Summary): void {
    const { values } = this;
    let min = Infinity;
    let max = -Infinity;
    let sum = 0;
    let count = 0;
    const end = this.start + this.upperBound(to);
    for (let place = this.start + this.lowerBound(from); place < end; ++place) {
      const value = values[place];
      if (Number.isNaN(value)) continue;
      if (value < min) min = value;
      if (value > max) max = value;
      sum += value;
      ++count;
    }
    summary.min = min;
    summary.max = max;
    summary.sum = sum;
    summary.count = count;
  }

  // The columns and the place of the first value in them, for loops that draw.
  // They are valid until the next change.
  get timeColumn(): Float64Array {
    return this.times;
  }

  get valueColumn(): Float64Array {
    return this.values;
  }

  get firstPlace(): number {
    return this.start;
  }

  // The index of the first value after `time`; `length` if there is none.
  upperBound(time: number): number {
    const index = this.lowerBound(time);
    return index < this.count && this.time(index) === time ? index + 1 : index;
  }

  // The index of the first value at or after `time`; `length` if there is none.
  lowerBound(time: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The index of the value whose window contains `time`, or else of the
  // nearest; -1 if there are no values.
  nearest(time: number): number {
    if (this.count === 0) return -1;
    const after = this.lowerBound(time);
    if (after === this.count) return after - 1;
    if (after === 0) return 0;
    return this.time(after) - time <= time - this.time(after - 1) ? after : after - 1;
  }

  private place(index: number): number {
    return this.start + index;
  }

  private nextPlace(time: number): number {
    if (this.count > 0) {
      const spacing = time - this.newestTime;
      if (spacing < this.shortest) this.shortest = spacing;
      // Coarse: the search for gaps decides.
      else if (spacing > 2 * this.shortest) this.isTroubled = true;
    }
    if (this.count === this.limit) {
      ++this.start;
      --this.count;
    }
    if (this.start + this.count === this.times.length) {
      // Moving `limit` values once for each `limit` values that arrive.
      if (this.times.length < 2 * this.limit) this.grow();
      else this.moveToBegin();
    }
    return this.place(this.count++);
  }

  private moveToBegin(): void {
    for (const column of [this.times, this.values, this.statuses, this.causes, this.breaks,
      this.coverages, this.presences]) {
      column.copyWithin(0, this.start, this.start + this.count);
    }
    this.start = 0;
  }

  private grow(): void {
    const capacity = Math.min(2 * this.times.length, 2 * this.limit);
    this.times = this.larger(this.times, new Float64Array(capacity));
    this.values = this.larger(this.values, new Float64Array(capacity));
    this.statuses = this.larger(this.statuses, new Uint8Array(capacity));
    this.causes = this.larger(this.causes, new Uint8Array(capacity));
    this.breaks = this.larger(this.breaks, new Uint32Array(capacity));
    this.coverages = this.larger(this.coverages, new Float32Array(capacity));
    this.presences = this.larger(this.presences, new Float32Array(capacity));
    this.start = 0;
  }

  private larger<T extends Float64Array | Float32Array | Uint32Array | Uint8Array>(from: T, to: T): T {
    to.set(from.subarray(this.start, this.start + this.count));
    return to;
  }
}
