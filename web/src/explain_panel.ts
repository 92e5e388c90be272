// How a value was calculated: raw samples, formula and arithmetic.

import { explain, isAbort, messageOf } from './api.ts';
import type { Line } from './chart_data.ts';
import { h, replace } from './dom.ts';
import { noteOf, valueText } from './legend.ts';
import { fullPath } from './series_label.ts';
import { currentZone } from './settings.ts';
import { formatTime, toRfc3339 } from './times.ts';
import { formatNumber, unitOf } from './units.ts';
import { plainEnum, type Explanation, type RawSample } from './wire.ts';

// Between 1601, where PerfTime100NSec begins, and 1970.
const WINDOWS_EPOCH_MS = 11_644_473_600_000;

export class ExplainPanel {
  readonly element: HTMLElement;
  private call = new AbortController();

  constructor() {
    this.element = h('section', { class: 'explain', hidden: true, tabindex: -1, 'aria-label': 'Explanation' });
  }

  close(): void {
    this.call.abort();
    this.element.hidden = true;
  }

  // `canExplain`: the line is a counter of an instance, not a group or a result
  // of arithmetic.
  async show(line: Line, time: number, canExplain: boolean): Promise<void> {
    this.call.abort();
    this.call = new AbortController();
    const { signal } = this.call;
    const value = line.values.at(line.values.nearest(time));
    const unit = unitOf(line.series);
    const note = noteOf(value);
    const head = [
      h('div', { class: 'explain-head' },
        h('h3', {}, fullPath(line.series) || line.label),
        h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close the explanation',
          onclick: () => this.close() }, '✕')),
      h('p', { class: 'explain-value' },
        h('strong', {}, valueText(value, unit)), ` at ${formatTime(time, currentZone())}`,
        note === '' ? '' : ` – ${note}`),
    ];
    this.element.hidden = false;
    if (!canExplain) {
      replace(this.element, ...head, h('p', {},
        'This value combines several series. Draw one of them to see its raw samples.'));
      return;
    }
    replace(this.element, ...head, h('p', { class: 'busy' }, 'Reading raw samples …'));
    try {
      // Times of samples have fractions of a ms: the one before is another sample.
      const request = { path: fullPath(line.series), time: toRfc3339(Math.ceil(time)) };
      const answer = await explain(request, signal);
      const failures = (answer.failures ?? []).map((failure) => h('p', { class: 'problem' },
        `The query of ${failure.counterset ?? ''} failed at ${failure.time ?? ''} with status ${failure.status ?? 0}.`));
      const parts = (answer.explanations ?? []).flatMap((one) => describe(one, unit));
      replace(this.element, ...head, ...failures, ...parts);
    } catch (error) {
      if (isAbort(error)) return;
      replace(this.element, ...head, h('p', { class: 'problem' }, messageOf(error)));
    }
    this.element.scrollIntoView({ block: 'nearest' });
  }
}

function describe(explanation: Explanation, unit: string): HTMLElement[] {
  const { older, newer } = explanation;
  const status = plainEnum(explanation.status ?? '');
  const isOk = status === '' || status === 'ok';
  const result = isOk ? formatNumber(Number(explanation.value ?? 0), unit)
    : `${status}${explanation.cause === undefined ? '' : ` (${plainEnum(explanation.cause)})`}`;
  const facts: [string, string | undefined][] = [
    ['formula', explanation.formula],
    ['arithmetic', explanation.arithmetic],
    ['result of these samples', result],
    ['denominator', explanation.denominator],
    ['counterset', explanation.countersetGuid],
    ['counter id', String(explanation.counterId ?? 0)],
  ];
  const list = h('dl', { class: 'facts' });
  for (const [name, text] of facts) {
    if (text !== undefined && text !== '') list.append(h('dt', {}, name), h('dd', {}, text));
  }
  return [h('div', { class: 'explain-body' }, samplesTable(older, newer), list)];
}

function samplesTable(older: RawSample | undefined, newer: RawSample | undefined): HTMLElement {
  const names: [string, (sample: RawSample) => string | undefined][] = [
    ['time', (sample) => sampleTime(sample)],
    ['value', (sample) => sample.value ?? 'none'],
    ['denominator', (sample) => sample.denominator],
    ['frequency', (sample) => sample.frequency],
    ['multi', (sample) => sample.multi],
    ['PerfTimeStamp', (sample) => sample.perfTimeStamp],
    ['PerfTime100NSec', (sample) => sample.perfTime100nsec],
    ['PerfFreq', (sample) => sample.perfFreq],
  ];
  const rows = names
    .map(([name, of]) => ({ name, older: older && of(older), newer: newer && of(newer) }))
    .filter((row) => row.older !== undefined || row.newer !== undefined)
    .map((row) => h('tr', {}, h('th', { scope: 'row' }, row.name), h('td', {}, row.older ?? '–'),
      h('td', {}, row.newer ?? '–')));
  return h('div', { class: 'scroll-x' }, h('table', { class: 'samples' },
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'raw sample'), h('th', { scope: 'col' }, 'older'),
      h('th', { scope: 'col' }, 'newer'))),
    h('tbody', {}, ...rows)));
}

function sampleTime(sample: RawSample): string | undefined {
  if (sample.perfTime100nsec === undefined) return undefined;
  return formatTime(Math.round(Number(sample.perfTime100nsec) / 10_000) - WINDOWS_EPOCH_MS, currentZone());
}
