// History joined with live values. The history is drawn first. Then the
// subscription begins, and its values are held back until the values since the
// end of the history are read: so nothing is missing or repeated in between,
// after a lost connection neither. Subscriptions with equal requests share
// their work in the aggregator, which is why they have no start time.

import { isAbort, messageOf, query } from './api.ts';
import type { LiveSeries } from './live_series.ts';
import { Subscription, type LiveState } from './subscription.ts';
import { protoDuration, toRfc3339 } from './times.ts';
import type { LiveMachines, Missing, Points, QueryProgress, QueryRequest, Series, SilentMachine,
  SubscribeRequest, SubscriptionPart } from './wire.ts';

export interface FeedTarget {
  // Returns where the values of a series go; undefined: nowhere.
  lineOf(series: Series): LiveSeries | undefined;
  // A series' instance is gone.
  onEnded?(series: Series): void;
  // Values have arrived.
  onValues(): void;
  // The newest time of all lines, in ms.
  newestTime(): number;
}

export interface FeedEvents {
  onHistory(): void; // complete
  onError(error: unknown): void; // of the history
  onState(state: LiveState | { kind: 'polling'; seconds: number }): void;
  onProgress?(progress: QueryProgress): void;
  onMissing?(missing: Missing): void;
  onSilent?(silent: SilentMachine): void;
  onMachines?(machines: LiveMachines): void;
  onLagged?(values: number): void;
}

// What to do after the history.
export interface Continuation {
  // Reads the values since the end of the history: like the history, but with
  // its start replaced.
  catchUp: QueryRequest;
  // Absent: the values are read again and again instead.
  subscribe?: SubscribeRequest;
}

// Values that are older than the newest one are read again, because machines
// send at different times.
const OVERLAP_MS = 30_000;
const SHORTEST_POLL_MS = 5000;

interface Stream {
  series: Map<number, Series>;
  lines: Map<number, LiveSeries>;
}

export class Feed {
  private readonly closing = new AbortController();
  private subscription: Subscription | undefined;
  private live: Stream = newStream();
  private held: SubscriptionPart[] | undefined;
  private pollTimer = 0;
  private catchUpOf = 0;

  // `next` is asked after the history, when the lines are known; undefined: the
  // feed ends there.
  constructor(
    private readonly history: QueryRequest,
    private readonly step: number,
    private readonly target: FeedTarget,
    private readonly events: FeedEvents,
    private readonly next: () => Continuation | undefined,
  ) {
    void this.start();
  }

  close(): void {
    this.closing.abort();
    this.subscription?.close();
    window.clearTimeout(this.pollTimer);
  }

  private async start(): Promise<void> {
    try {
      await this.read(this.history);
    } catch (error) {
      if (!isAbort(error)) this.events.onError(error);
      return;
    }
    if (this.closing.signal.aborted) return;
    this.events.onHistory();
    const next = this.next();
    if (next === undefined) return;
    if (next.subscribe === undefined) this.poll(next.catchUp);
    else this.follow(next.catchUp, next.subscribe);
  }

  private async read(request: QueryRequest): Promise<void> {
    const stream = newStream();
    await query(request, this.closing.signal, (part) => {
      if (part.series !== undefined) this.addSeries(stream, part.series);
      if (part.points !== undefined) this.addPoints(stream, part.points, true);
      if (part.progress !== undefined) this.events.onProgress?.(part.progress);
      if (part.missing !== undefined) this.events.onMissing?.(part.missing);
      if (part.silent !== undefined) this.events.onSilent?.(part.silent);
    });
    this.target.onValues();
  }

  private follow(catchUp: QueryRequest, request: SubscribeRequest): void {
    this.subscription = new Subscription(request, {
      onState: (state) => this.events.onState(state),
      onConnect: () => {
        this.live = newStream();
        this.held = [];
        void this.catchUp(catchUp);
      },
      onPart: (part) => {
        if (this.held === undefined) this.apply(part);
        else this.held.push(part);
      },
    });
  }

  private async catchUp(request: QueryRequest): Promise<void> {
    const own = ++this.catchUpOf;
    try {
      await this.read(this.since(request));
    } catch (error) {
      if (isAbort(error)) return;
      // The live values are worth more than what lies before them.
      console.warn(`fleetperf: values are missing before the live ones: ${messageOf(error)}`);
    }
    if (own !== this.catchUpOf) return; // a later connection has begun
    const held = this.held ?? [];
    this.held = undefined;
    for (const part of held) this.apply(part);
  }

  private since(request: QueryRequest): QueryRequest {
    const { since, endTime, withProgress, ...rest } = request;
    void [since, endTime, withProgress];
    const newest = this.target.newestTime();
    if (!Number.isFinite(newest)) return { ...rest, since: protoDuration(OVERLAP_MS) };
    const start = newest - Math.max(OVERLAP_MS, 3 * this.step);
    // Windows begin at the start, and those of the history at multiples of the step.
    return { ...rest, startTime: toRfc3339(Math.floor(start / this.step) * this.step) };
  }

  private apply(part: SubscriptionPart): void {
    for (const series of part.series ?? []) this.addSeries(this.live, series);
    for (const points of part.points ?? []) this.addPoints(this.live, points, false);
    for (const id of part.ended ?? []) {
      const series = this.live.series.get(id);
      if (series !== undefined) this.target.onEnded?.(series);
    }
    for (const missing of part.missing ?? []) this.events.onMissing?.(missing);
    if (part.machines !== undefined) this.events.onMachines?.(part.machines);
    if (part.lagged !== undefined && part.lagged > 0) this.events.onLagged?.(part.lagged);
    if (part.points !== undefined || part.ended !== undefined) this.target.onValues();
  }

  private addSeries(stream: Stream, series: Series): void {
    const id = series.id ?? 0;
    stream.series.set(id, series);
    const line = this.target.lineOf(series);
    if (line === undefined) stream.lines.delete(id);
    else stream.lines.set(id, line);
  }

  private addPoints(stream: Stream, points: Points, isHistory: boolean): void {
    const line = stream.lines.get(points.series ?? 0);
    if (line === undefined) return;
    line.append(points);
    // The rest of the range is no window: the whole window replaces it later.
    if (isHistory && points.partial === true && line.newestTime === points.t[points.t.length - 1]) {
      line.dropNewest();
    }
  }

  private poll(request: QueryRequest): void {
    const wait = Math.max(SHORTEST_POLL_MS, this.step);
    this.events.onState({ kind: 'polling', seconds: Math.round(wait / 1000) });
    this.pollTimer = window.setTimeout(async () => {
      if (document.visibilityState === 'visible') {
        try {
          await this.read(this.since(request));
        } catch (error) {
          if (isAbort(error)) return;
          this.events.onState({ kind: 'waiting', seconds: Math.round(wait / 1000), reason: messageOf(error) });
        }
      }
      if (!this.closing.signal.aborted) this.poll(request);
    }, wait);
  }
}

function newStream(): Stream {
  return { series: new Map(), lines: new Map() };
}
