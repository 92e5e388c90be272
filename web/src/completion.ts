// What can be typed next in a path, or which paths match words.

import { find } from './api.ts';
import { counters, countersets, instances } from './catalogue.ts';

export interface Suggestion {
  text: string; // the whole input after it is chosen
  shown: string;
  detail: string;
  // Whether the path is complete: nothing more need be typed.
  isComplete: boolean;
}

const MOST = 50;

interface Piece {
  before: string; // the text before the path: "100 - "
  machine: string;
  prefix: string; // "\\web-1"
  rest: string; // from the backslash before the counterset
}

// Returns the path at the end of the text.
export function lastPath(text: string): Piece | undefined {
  const found = text.match(/(^|[\s('"])(\\.*)$/);
  if (found === null) return undefined;
  // The last operator before another path ends the one before.
  const operator = text.match(/^.*[\s('"](?=\\)/);
  const start = operator !== null && / [-+*/] \(*['"]?$/.test(operator[0])
    ? operator[0].length : text.length - found[2].length;
  const path = text.slice(start);
  const machine = path.match(/^\\\\([^\\]*)/);
  if (machine === null) return { before: text.slice(0, start), machine: '', prefix: '', rest: path };
  return {
    before: text.slice(0, start), machine: machine[1], prefix: machine[0],
    rest: path.slice(machine[0].length),
  };
}

// Suggestions for the text before the caret.
export async function suggest(text: string): Promise<Suggestion[]> {
  const piece = lastPath(text);
  if (piece === undefined) return searchWords(text);
  if (!piece.rest.startsWith('\\')) return []; // a machine's name
  const typed = piece.rest.slice(1);
  const sets = await countersets();
  // Names of countersets may contain parentheses: the longest one that fits is meant.
  const set = sets
    .filter(({ name = '' }) => typed.toLowerCase().startsWith(name.toLowerCase()) &&
      /^[(\\]/.test(typed.slice(name.length)))
    .sort((a, b) => (b.name ?? '').length - (a.name ?? '').length)[0];
  const start = `${piece.before}${piece.prefix}\\`;
  if (set === undefined) {
    return sets.filter(({ name = '' }) => matches(name, typed)).slice(0, MOST).map((one) => ({
      text: `${start}${one.name}${one.hasInstances === true ? '(' : '\\'}`,
      shown: one.name ?? '',
      detail: one.help ?? '',
      isComplete: false,
    }));
  }
  const name = set.name ?? '';
  const after = typed.slice(name.length);
  if (after.startsWith('(') && !after.includes(')\\')) {
    return suggestInstances(`${start}${name}`, name, piece.machine, after.slice(1));
  }
  const counterAt = after.startsWith('(') ? after.indexOf(')\\') + 2 : 1;
  const all = await counters(name);
  return all.filter((counter) => matches(counter.name ?? '', after.slice(counterAt))).slice(0, MOST)
    .map((counter) => ({
      text: `${start}${name}${after.slice(0, counterAt)}${counter.name}`,
      shown: counter.name ?? '',
      detail: [counter.unit, counter.help, counter.collected === true ? '' : 'not collected now']
        .filter((part) => part !== undefined && part !== '').join(' · '),
      isComplete: true,
    }));
}

async function suggestInstances(
  start: string, counterset: string, machine: string, typed: string,
): Promise<Suggestion[]> {
  const words = typed.replace(/\)$/, '');
  const known = await instances(counterset, machine);
  // Those of a counterset that is not collected are in no sample.
  const best = words === '' ? [] : await find({ words, counterset, machine, maxResults: MOST });
  const names = best.length > 0 ? best.map(({ name = '' }) => name)
    : known.filter((name) => matches(name, words)).slice(0, MOST);
  const all = { text: `${start}(*)\\`, shown: '*', detail: 'all instances', isComplete: false };
  const rest = names.map((name) => ({
    text: `${start}(${escapeName(name)})\\`, shown: name, detail: '', isComplete: false,
  }));
  return typed === '' ? [all, ...rest] : rest;
}

// Wildcards in a name are written in brackets.
export function escapeName(name: string): string {
  return name.replace(/[*?#]/g, '[$&]');
}

// What the aggregator finds by everyday words. A counter is a complete path; a
// counter of an instance or a machine is still to be chosen.
async function searchWords(text: string): Promise<Suggestion[]> {
  if (text.trim() === '') return [];
  const found = await find({ words: text, maxResults: MOST });
  return found.map(({ kind, path = '', unit, help }) => {
    const isComplete = kind === 'KIND_COUNTER';
    return {
      text: isComplete ? path : kind === 'KIND_MACHINE' ? `${path}\\` : path.replace(/\*$/, ''),
      shown: path,
      detail: [unit, help].filter((part) => part !== undefined && part !== '').join(' · '),
      isComplete,
    };
  });
}

function matches(name: string, typed: string): boolean {
  return name.toLowerCase().includes(typed.toLowerCase());
}
