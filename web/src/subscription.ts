// A subscription that connects again by itself, and that rests while nobody
// sees the page: browsers allow few connections to one server, and agents of
// watched machines send more often.

import { ApiError, isAbort, subscribe } from './api.ts';
import type { SubscribeRequest, SubscriptionPart } from './wire.ts';

export type LiveState =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'waiting'; seconds: number; reason: string }
  | { kind: 'paused' }
  | { kind: 'failed'; reason: string };

export interface SubscriptionEvents {
  // Before the first part of each connection. Series ids of earlier ones are void.
  onConnect(): void;
  onPart(part: SubscriptionPart): void;
  onState(state: LiveState): void;
}

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
// The server sends a line at least every 15 s.
const SILENCE_MS = 40_000;
// Time in the background after which the subscription rests.
const HIDDEN_MS = 20_000;
// Errors that another attempt can cure.
const PASSING = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'UNKNOWN', 'ABORTED',
  'INTERNAL', 'CANCELLED']);

// Returns the time before an attempt: doubled each time, with up to a quarter
// more, so that the viewers of a restarted aggregator do not return at once.
export function waitBefore(attempt: number, random: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) * (1 + random / 4);
}

export class Subscription {
  private readonly closing = new AbortController();
  private connection = new AbortController();
  private attempt = 0;
  private timer = 0;
  private hiddenTimer = 0;
  private silenceTimer = 0;
  private isPaused = false;

  constructor(private readonly request: SubscribeRequest, private readonly events: SubscriptionEvents) {
    document.addEventListener('visibilitychange', this.onVisibility);
    window.addEventListener('online', this.onOnline);
    void this.connect();
  }

  close(): void {
    this.closing.abort();
    this.connection.abort();
    this.stopTimers();
    window.clearTimeout(this.hiddenTimer);
    document.removeEventListener('visibilitychange', this.onVisibility);
    window.removeEventListener('online', this.onOnline);
  }

  private async connect(): Promise<void> {
    this.stopTimers();
    this.connection = new AbortController();
    const { signal } = this.connection;
    this.events.onState({ kind: 'connecting' });
    let isFirst = true;
    this.expectLine();
    try {
      await subscribe(this.request, signal, (part) => {
        this.expectLine();
        if (isFirst) {
          isFirst = false;
          this.attempt = 0;
          this.events.onConnect();
          this.events.onState({ kind: 'live' });
        }
        this.events.onPart(part);
      });
    } catch (error) {
      // Only a connection that is still the current one may start another.
      if (this.closing.signal.aborted || signal !== this.connection.signal) return;
      if (this.isPaused) return;
      this.retry(error);
    }
  }

  private retry(error: unknown): void {
    window.clearTimeout(this.silenceTimer);
    const wasSilent = isAbort(error);
    const reason = wasSilent ? 'The aggregator is silent.'
      : error instanceof Error ? error.message : String(error);
    if (!wasSilent && error instanceof ApiError && !PASSING.has(error.code)) {
      this.events.onState({ kind: 'failed', reason });
      return;
    }
    const wait = waitBefore(this.attempt++, Math.random());
    this.events.onState({ kind: 'waiting', seconds: Math.round(wait / 1000), reason });
    this.timer = window.setTimeout(() => void this.connect(), wait);
  }

  private expectLine(): void {
    window.clearTimeout(this.silenceTimer);
    this.silenceTimer = window.setTimeout(() => this.connection.abort(), SILENCE_MS);
  }

  private readonly onOnline = (): void => {
    if (this.timer !== 0 && !this.isPaused) void this.connect();
  };

  private readonly onVisibility = (): void => {
    window.clearTimeout(this.hiddenTimer);
    if (document.visibilityState === 'visible') {
      if (this.isPaused) {
        this.isPaused = false;
        void this.connect();
      }
      return;
    }
    this.hiddenTimer = window.setTimeout(() => {
      this.isPaused = true;
      this.stopTimers();
      this.connection.abort();
      this.events.onState({ kind: 'paused' });
    }, HIDDEN_MS);
  };

  private stopTimers(): void {
    window.clearTimeout(this.timer);
    window.clearTimeout(this.silenceTimer);
    this.timer = 0;
  }
}
