// The address after "#" holds all that a view shows, so that it can be shared
// and the browser's back and forward work.

import { EMPTY_QUESTION, type Question } from './question.ts';

export type FleetSort = 'name' | 'value' | 'state';

export interface FleetView {
  page: 'fleet';
  counter: string; // "": the default
  filter: string; // words of names and labels
  sort: FleetSort;
  table: boolean;
}

export interface MachineView {
  page: 'machine';
  name: string;
  since: string;
}

export interface ExploreView {
  page: 'explore';
  question: Question;
  live: boolean;
  table: boolean;
}

export type View = FleetView | MachineView | ExploreView;

export const DEFAULT_FLEET: FleetView = {
  page: 'fleet', counter: '', filter: '', sort: 'name', table: false,
};

const TEXTS = ['since', 'start', 'end', 'step', 'over', 'agg', 'top', 'bottom', 'where', 'machine'] as const;

// Unknown parts are ignored: a link may come from another version.
export function parseAddress(hash: string): View {
  const [path, query] = splitOnce(hash.replace(/^#\/?/, ''), '?');
  const values = new URLSearchParams(query);
  const [page, name] = splitOnce(path, '/');
  if (page === 'explore') return parseExplore(values);
  if (page === 'machine' && name !== '') {
    return { page: 'machine', name: decode(name), since: values.get('since') ?? '' };
  }
  const sort = values.get('sort');
  return {
    page: 'fleet',
    counter: values.get('counter') ?? '',
    filter: values.get('filter') ?? '',
    sort: sort === 'value' || sort === 'state' ? sort : 'name',
    table: values.get('view') === 'table',
  };
}

function parseExplore(values: URLSearchParams): ExploreView {
  const question: Question = {
    ...EMPTY_QUESTION,
    paths: values.getAll('path').filter((path) => path !== ''),
    by: values.getAll('by'),
    labels: values.getAll('label'),
  };
  for (const name of TEXTS) question[name] = values.get(name) ?? '';
  return {
    page: 'explore',
    question,
    live: values.get('live') === '1',
    table: values.get('view') === 'table',
  };
}

export function formatAddress(view: View): string {
  const parts: [string, string][] = [];
  const add = (name: string, value: string): void => {
    if (value !== '') parts.push([name, value]);
  };
  let path: string = view.page;
  if (view.page === 'fleet') {
    add('counter', view.counter);
    add('filter', view.filter);
    if (view.sort !== 'name') add('sort', view.sort);
    if (view.table) add('view', 'table');
  } else if (view.page === 'machine') {
    path = `machine/${encodeURIComponent(view.name)}`;
    add('since', view.since);
  } else {
    for (const one of view.question.paths) add('path', one);
    for (const name of TEXTS) add(name, view.question[name]);
    for (const by of view.question.by) add('by', by);
    for (const label of view.question.labels) add('label', label);
    if (view.live) add('live', '1');
    if (view.table) add('view', 'table');
  }
  const query = parts.map(([name, value]) => `${name}=${readable(value)}`).join('&');
  return `#/${path}${query === '' ? '' : `?${query}`}`;
}

// Escapes what has a meaning in an address, and what chat programs cut off.
function readable(value: string): string {
  return encodeURIComponent(value)
    .replace(/%(2C|3A|2F|3D)/g, (escape) => decodeURIComponent(escape))
    .replace(/%20/g, '+');
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
