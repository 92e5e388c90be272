// Calls of the server. Every call can be aborted, and rejects with an ApiError
// whose message is the server's.

import { readLines } from './ndjson.ts';
import type {
  Counter, Counterset, CountersetsPage, CountersPage, ErrorBody, ExplainAnswer, FindAnswer,
  FindRequest, Found, InstancesPage, Machine, MachineSelection, MachinesPage, OtherAggregator,
  QueryPart, QueryRequest, SubscribeRequest, SubscriptionPart,
} from './wire.ts';

const MACHINES_OF_PAGE = 1000;
// The number of machines whose instances a completion shows.
const MACHINES_OF_COMPLETION = 20;

export class ApiError extends Error {
  // `code` is a gRPC status: "NOT_FOUND". "UNAVAILABLE" if the server cannot be
  // reached.
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

// Returns whether an error comes from aborting a call, which nobody wants to
// read about.
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// Called when a call finds that the session has ended.
let onUnauthenticated: () => void = () => undefined;
export function whenUnauthenticated(call: () => void): void {
  onUnauthenticated = call;
}

async function post(method: string, request: unknown, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/api/v1/${method}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(request),
      signal,
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError('UNAVAILABLE', 'The aggregator cannot be reached.');
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (response.status === 401) {
    onUnauthenticated();
    throw new ApiError('UNAUTHENTICATED', error.message);
  }
  throw error;
}

async function errorOf(response: Response): Promise<ApiError> {
  const fallback = `The aggregator answered with HTTP status ${response.status}.`;
  try {
    const body = (await response.json()) as { error?: ErrorBody };
    return toError(body.error ?? {}, fallback);
  } catch {
    return new ApiError('UNKNOWN', fallback);
  }
}

function toError(error: ErrorBody, fallback = 'The aggregator reported an error.'): ApiError {
  return new ApiError(error.code ?? 'UNKNOWN', error.message ?? fallback);
}

async function call<T>(method: string, request: unknown, signal: AbortSignal): Promise<T> {
  const response = await post(method, request, signal);
  return (await response.json()) as T;
}

// Calls `use` with each page of machines, in the order of their names.
export async function listMachines(
  selection: MachineSelection, signal: AbortSignal,
  use: (machines: Machine[]) => void,
): Promise<void> {
  let pageToken = '';
  do {
    const page: MachinesPage = await call(
      'machines', { ...selection, pageSize: MACHINES_OF_PAGE, pageToken }, signal);
    use(page.machines ?? []);
    pageToken = page.nextPageToken ?? '';
  } while (pageToken !== '');
}

export async function listOthers(signal: AbortSignal): Promise<OtherAggregator[]> {
  const answer: { others?: OtherAggregator[] } = await call('others', {}, signal);
  return answer.others ?? [];
}

export async function listCountersets(
  selection: MachineSelection, signal: AbortSignal,
): Promise<Counterset[]> {
  const all: Counterset[] = [];
  let pageToken = '';
  do {
    const page: CountersetsPage = await call('countersets', { ...selection, pageToken }, signal);
    all.push(...(page.countersets ?? []));
    pageToken = page.nextPageToken ?? '';
  } while (pageToken !== '');
  return all;
}

export async function listCounters(
  counterset: string, selection: MachineSelection, signal: AbortSignal,
): Promise<Counter[]> {
  const all: Counter[] = [];
  let pageToken = '';
  do {
    const page: CountersPage = await call(
      'counters', { ...selection, counterset, pageToken }, signal);
    all.push(...(page.counters ?? []));
    pageToken = page.nextPageToken ?? '';
  } while (pageToken !== '');
  return all;
}

// Returns the names of instances of some machines, without repetition.
export async function listInstances(
  counterset: string, selection: MachineSelection, signal: AbortSignal,
): Promise<string[]> {
  const page: InstancesPage = await call(
    'instances', { ...selection, counterset, pageSize: MACHINES_OF_COMPLETION }, signal);
  return [...new Set((page.instances ?? []).map((instance) => instance.name ?? ''))];
}

// Returns what everyday words find, best first.
export async function find(request: FindRequest): Promise<Found[]> {
  const answer: FindAnswer = await call('find', request, new AbortController().signal);
  return answer.found ?? [];
}

export function explain(
  request: MachineSelection & { path: string; time?: string }, signal: AbortSignal,
): Promise<ExplainAnswer> {
  return call('explain', request, signal);
}

// Calls `use` with each part of the answer, as it arrives.
export async function query(
  request: QueryRequest, signal: AbortSignal, use: (part: QueryPart) => void,
): Promise<void> {
  let isComplete = false;
  await stream<QueryPart>('query', request, signal, (part) => {
    if (part.end === true) isComplete = true;
    use(part);
  });
  if (!isComplete) throw new ApiError('UNAVAILABLE', 'The connection was lost during the answer.');
}

// Calls `use` with each line until the subscription ends, which is always an
// error: the connection was lost, or the aggregator says why.
export async function subscribe(
  request: SubscribeRequest, signal: AbortSignal, use: (part: SubscriptionPart) => void,
): Promise<never> {
  await stream('subscribe', request, signal, use);
  throw new ApiError('UNAVAILABLE', 'The connection was lost.');
}

async function stream<T extends { error?: ErrorBody }>(
  method: string, request: unknown, signal: AbortSignal, use: (part: T) => void,
): Promise<void> {
  const response = await post(method, request, signal);
  if (response.body === null) throw new ApiError('UNAVAILABLE', 'The answer is empty.');
  try {
    await readLines<T>(response.body, (part) => {
      if (part.error !== undefined) throw toError(part.error);
      use(part);
    });
  } catch (error) {
    if (isAbort(error) || error instanceof ApiError) throw error;
    // Browsers report a lost connection as a TypeError with words of their own.
    if (error instanceof TypeError) {
      throw new ApiError('UNAVAILABLE', 'The connection was lost.');
    }
    throw error;
  }
}
