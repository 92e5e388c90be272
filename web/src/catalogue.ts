// The countersets, counters and instances of the fleet, kept while the page is
// open.

import { listCounters, listCountersets, listInstances } from './api.ts';
import type { Counter, Counterset, MachineSelection } from './wire.ts';

const never = new AbortController().signal;
const cache = new Map<string, Promise<unknown>>();

// A failed call is forgotten, so that the next one tries again.
function once<T>(key: string, load: () => Promise<T>): Promise<T> {
  const known = cache.get(key) as Promise<T> | undefined;
  if (known !== undefined) return known;
  const loading = load();
  cache.set(key, loading);
  loading.catch(() => cache.delete(key));
  return loading;
}

export function countersets(selection: MachineSelection = {}): Promise<Counterset[]> {
  return once(`sets ${JSON.stringify(selection)}`, () => listCountersets(selection, never));
}

export function counters(counterset: string, selection: MachineSelection = {}): Promise<Counter[]> {
  return once(`counters ${counterset} ${JSON.stringify(selection)}`,
    () => listCounters(counterset, selection, never));
}

export function instances(counterset: string, machine: string): Promise<string[]> {
  return once(`instances ${counterset} ${machine}`,
    () => listInstances(counterset, machine === '' ? {} : { machine }, never));
}
