// A question as a user writes it, with the words of the command line's flags,
// and the request that it becomes.

import { parseDuration, parseTime, protoDuration, roundDuration, toRfc3339, type Zone } from './times.ts';
import type { Condition, MachineSelection, QueryRequest, SubscribeRequest } from './wire.ts';

// Empty strings and lists: not given.
export interface Question {
  paths: string[];
  since: string;
  start: string;
  end: string;
  step: string;
  over: string;
  agg: string;
  by: string[]; // "machine", "label:role"
  top: string;
  bottom: string;
  where: string;
  machine: string;
  labels: string[]; // "role=web"
}

export const EMPTY_QUESTION: Question = {
  paths: [], since: '', start: '', end: '', step: '', over: '', agg: '', by: [], top: '', bottom: '',
  where: '', machine: '', labels: [],
};

export const DEFAULT_SINCE = '15m';

// A mistake in a field, said to the user beside it.
export class InputError extends Error {
  constructor(readonly field: keyof Question, message: string) {
    super(message);
  }
}

const OVERS: Record<string, string> = {
  avg: 'OVER_AVERAGE', min: 'OVER_MINIMUM', max: 'OVER_MAXIMUM', last: 'OVER_LAST', sum: 'OVER_SUM',
};

const AGGREGATES: Record<string, string> = {
  auto: 'AUTO', avg: 'AVERAGE', sum: 'SUM', min: 'MINIMUM', max: 'MAXIMUM', count: 'COUNT',
  p50: 'P50', p90: 'P90', p95: 'P95', p99: 'P99',
};

const GROUPINGS = new Set(['machine', 'instance', 'name', 'counter', 'counterset']);

export const OVER_NAMES = Object.keys(OVERS);
export const AGGREGATE_NAMES = Object.keys(AGGREGATES);
export const GROUPING_NAMES = [...GROUPINGS];

const COMPARISONS: readonly (readonly [string, string])[] = [
  ['>=', 'GREATER_OR_EQUAL'], ['<=', 'LESS_OR_EQUAL'], ['!=', 'NOT_EQUAL'], ['>', 'GREATER'],
  ['<', 'LESS'], ['=', 'EQUAL'],
];

export function parseCondition(text: string): Condition {
  const trimmed = text.trim();
  const found = COMPARISONS.find(([symbol]) => trimmed.startsWith(symbol));
  const rest = found === undefined ? null
    : trimmed.slice(found[0].length).trim().match(/^(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(.*)$/i);
  if (found === undefined || rest === null) {
    throw new InputError('where',
      `"${text}" is not >, >=, <, <=, = or != and a number, as in > 90 or >= 1.5 GiB`);
  }
  return { comparison: `COMPARISON_${found[1]}`, number: Number(rest[1]), unit: rest[2] };
}

export function parseLabels(labels: readonly string[]): Record<string, string> {
  const parsed: Record<string, string> = {};
  for (const label of labels) {
    const equals = label.indexOf('=');
    if (equals < 1) throw new InputError('labels', `"${label}" is not NAME=VALUE, as in role=web`);
    const name = label.slice(0, equals);
    if (name in parsed) throw new InputError('labels', `${name} is given twice`);
    parsed[name] = label.slice(equals + 1);
  }
  return parsed;
}

function parseCount(field: 'top' | 'bottom', text: string): number {
  if (!/^\d+$/.test(text) || Number(text) < 1 || Number(text) > 1000) {
    throw new InputError(field, `"${text}" is not a number from 1 to 1000`);
  }
  return Number(text);
}

export interface Range {
  from: number; // ms; an estimate for `since`, which is by each machine's clock
  to: number;
  isToNow: boolean;
}

export function rangeOf(question: Question, now: number, zone: Zone): Range {
  const time = (field: 'start' | 'end'): number => {
    const parsed = parseTime(question[field], now, zone);
    if (parsed === undefined) {
      throw new InputError(field,
        `"${question[field]}" is not a time, as in 2026-11-20 21:49, 21:49 or -1h30m`);
    }
    return parsed;
  };
  const isToNow = question.end === '' || question.end === 'now';
  const to = isToNow ? now : time('end');
  if (question.start !== '') {
    const from = time('start');
    if (from >= to) throw new InputError('start', 'The start is not before the end');
    return { from, to, isToNow };
  }
  return { from: to - sinceOf(question), to, isToNow };
}

function sinceOf(question: Question): number {
  const text = question.since === '' ? DEFAULT_SINCE : question.since;
  const since = parseDuration(text);
  if (since === undefined) {
    throw new InputError('since', `"${text}" is not a duration, as in 30s, 15m, 1h30m or 7d`);
  }
  return since;
}

// The step in ms that a chart of `points` values needs, or the one given.
export function stepOf(question: Question, range: Range, points: number): number {
  if (question.step !== '') {
    const step = parseDuration(question.step);
    if (step === undefined) {
      throw new InputError('step', `"${question.step}" is not a duration, as in 10s or 5m`);
    }
    return step;
  }
  return Math.max(1000, roundDuration((range.to - range.from) / points));
}

function selectionOf(question: Question): MachineSelection {
  const selection: MachineSelection = {};
  if (question.machine !== '') selection.machine = question.machine;
  if (question.labels.length > 0) selection.labels = parseLabels(question.labels);
  return selection;
}

export function queryOf(question: Question, range: Range, step: number): QueryRequest {
  const request: QueryRequest = { paths: question.paths, ...selectionOf(question) };
  if (question.start !== '') request.startTime = toRfc3339(range.from);
  else request.since = protoDuration(range.to - range.from);
  if (!range.isToNow) request.endTime = toRfc3339(range.to);
  request.step = protoDuration(step);
  if (question.over !== '') request.over = OVERS[question.over];
  if (question.top !== '') request.top = parseCount('top', question.top);
  if (question.bottom !== '') request.bottom = parseCount('bottom', question.bottom);
  if (question.top !== '' && question.bottom !== '') {
    throw new InputError('bottom', 'top and bottom exclude each other');
  }
  if (question.where !== '') request.where = parseCondition(question.where);
  if (question.agg !== '') request.aggregate = `AGGREGATE_FUNCTION_${AGGREGATES[question.agg]}`;
  else if (question.by.length > 0) throw new InputError('by', 'by requires agg; choose auto');
  addGroupings(question.by, request);
  request.withProgress = true;
  return request;
}

function addGroupings(by: readonly string[], request: QueryRequest): void {
  const groupings: string[] = [];
  const labels: string[] = [];
  for (const text of by) {
    if (GROUPINGS.has(text)) groupings.push(`GROUPING_${text.toUpperCase()}`);
    else if (/^label:./.test(text)) labels.push(text.slice('label:'.length));
    else throw new InputError('by', `"${text}" is not ${GROUPING_NAMES.join(', ')} or label:NAME`);
  }
  if (groupings.length > 0) request.by = groupings;
  if (labels.length > 0) request.byLabels = labels;
}

// Subscriptions take paths only: no arithmetic, --agg and --over.
export function canSubscribe(question: Question): boolean {
  return question.agg === '' && question.over === '' && !question.paths.some(isExpression);
}

// Arithmetic has an operator with a space on both sides, next to an operand
// (docs/reference/query-rules.md).
export function isExpression(text: string): boolean {
  return /^[\d("']/.test(text.trim()) || / [-+*/] \(*['"\\]/.test(text) ||
    / [-+*/] \(*\d+(\.\d+)?(e[+-]?\d+)?\)*( |$)/i.test(text);
}

// Subscribes to `paths`, or to those of the question.
export function subscriptionOf(
  question: Question, step: number, paths: string[] | undefined,
): SubscribeRequest {
  // A chart has one value for each step; agents sample every second at most.
  const interval = protoDuration(Math.max(step, 1000));
  if (paths !== undefined) return { paths, interval };
  return { paths: question.paths, interval, ...selectionOf(question) };
}

// The same question as a command.
export function commandOf(question: Question, table: boolean): string {
  const words = ['fleetperf', table ? 'query' : 'plot', ...question.paths.map(quote)];
  const add = (flag: string, value: string): void => {
    if (value !== '') words.push(flag, quote(value));
  };
  if (question.start === '') add('--since', question.since === '' ? DEFAULT_SINCE : question.since);
  add('--from', question.start);
  add('--to', question.end);
  add('--step', question.step);
  add('--over', question.over);
  add('--agg', question.agg);
  for (const by of question.by) add('--by', by);
  add('--top', question.top);
  add('--bottom', question.bottom);
  add('--where', question.where);
  add('--machine', question.machine);
  for (const label of question.labels) add('--label', label);
  return words.join(' ');
}

function quote(text: string): string {
  return /^[\w.:=,+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
