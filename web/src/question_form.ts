// The fields of a question, with the words of the command line.

import { displayText } from './display_text.ts';
import { h, select, setText } from './dom.ts';
import { PathInput } from './path_input.ts';
import { AGGREGATE_NAMES, DEFAULT_SINCE, EMPTY_QUESTION, GROUPING_NAMES, OVER_NAMES, type InputError,
  type Question } from './question.ts';

const RANGES = ['5m', '15m', '1h', '6h', '24h', '7d', '30d'];
const TEXT_FIELDS = ['start', 'end', 'step', 'top', 'bottom', 'where', 'machine'] as const;

const HINTS: Record<(typeof TEXT_FIELDS)[number], [label: string, placeholder: string]> = {
  start: ['from', '2026-11-20 21:49'],
  end: ['to', 'now'],
  step: ['step', 'automatic'],
  top: ['top', 'all'],
  bottom: ['bottom', 'all'],
  where: ['where', '> 90'],
  machine: ['machine', 'web-*'],
};

export class QuestionForm {
  readonly element: HTMLFormElement;
  private readonly paths: HTMLElement;
  private inputs: PathInput[] = [];
  private readonly texts = new Map<string, HTMLInputElement>();
  private readonly over: HTMLSelectElement;
  private readonly agg: HTMLSelectElement;
  private readonly by: HTMLInputElement;
  private readonly labels: HTMLInputElement;
  private readonly since: HTMLElement;
  private readonly options: HTMLDetailsElement;
  private readonly optionsInUse = h('span', { class: 'in-use' });
  private readonly problem: HTMLElement;
  private chosenSince = '';

  constructor(private readonly submit: (question: Question) => void) {
    this.paths = h('div', { class: 'paths' });
    this.problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    const none = [['', 'default']] as const;
    this.over = select('over', [...none, ...OVER_NAMES.map((name) => [name, name] as const)], '',
      () => this.send());
    this.agg = select('agg', [['', 'none'], ...AGGREGATE_NAMES.map((name) => [name, name] as const)], '',
      () => this.send());
    this.by = h('input', { type: 'text', placeholder: 'machine, label:role', list: 'groupings' });
    this.labels = h('input', { type: 'text', placeholder: 'role=web, site=berlin' });
    this.since = h('div', { class: 'segments', role: 'group', 'aria-label': 'Time to now' });
    for (const field of TEXT_FIELDS) {
      this.texts.set(field, h('input', { type: 'text', placeholder: HINTS[field][1], name: field }));
    }
    this.options = h('details', { class: 'options' }, h('summary', {}, 'Options', this.optionsInUse), this.makeOptions());
    this.element = h('form', {
      class: 'question', 'aria-label': 'Question',
      onsubmit: (event) => {
        event.preventDefault();
        this.send();
      },
    },
    this.paths,
    h('div', { class: 'toolbar' }, this.since,
      h('button', { type: 'button', class: 'quiet', onclick: () => this.addPath('').input.focus() }, '+ path'),
      h('button', { type: 'submit', class: 'primary' }, 'Draw')),
    this.options, this.problem);
  }

  show(question: Question): void {
    this.problem.hidden = true;
    const paths = question.paths.length === 0 ? [''] : question.paths;
    if (JSON.stringify(this.inputs.map(({ input }) => input.value)) !== JSON.stringify(paths)) {
      this.inputs = [];
      this.paths.replaceChildren();
      paths.forEach((path) => this.addPath(path));
    }
    for (const field of TEXT_FIELDS) this.field(field).value = question[field];
    this.over.value = question.over;
    this.agg.value = question.agg;
    this.by.value = question.by.join(', ');
    this.labels.value = question.labels.join(', ');
    this.chosenSince = question.start !== '' ? '' : question.since === '' ? DEFAULT_SINCE : question.since;
    this.showRanges();
    setText(this.optionsInUse, optionsText(question));
  }

  focus(): void {
    this.inputs[0]?.input.focus();
  }

  showProblem(error: InputError): void {
    this.problem.hidden = false;
    this.problem.textContent = displayText(`${error.field}: ${error.message}`);
    this.options.open = true;
    this.texts.get(error.field)?.focus();
  }

  private send(): void {
    const list = (text: string): string[] =>
      text.split(',').map((part) => part.trim()).filter((part) => part !== '');
    const question: Question = {
      ...EMPTY_QUESTION,
      paths: this.inputs.map(({ input }) => input.value.trim()).filter((path) => path !== ''),
      over: this.over.value,
      agg: this.agg.value,
      by: list(this.by.value),
      labels: list(this.labels.value),
    };
    for (const field of TEXT_FIELDS) question[field] = this.field(field).value.trim();
    if (question.start === '') question.since = this.chosenSince;
    this.submit(question);
  }

  private addPath(value: string): PathInput {
    const input = new PathInput(value, 'Path or expression',
      'Search for words, or type a path: \\Processor Information(*)\\% Processor Time', () => this.send());
    this.inputs.push(input);
    const remove = h('button', {
      type: 'button', class: 'quiet', 'aria-label': 'Remove this path',
      onclick: () => {
        this.inputs = this.inputs.filter((one) => one !== input);
        row.remove();
        if (this.inputs.length === 0) this.addPath('');
        this.send();
      },
    }, '✕');
    const row = h('div', { class: 'path-row' }, input.element, remove);
    this.paths.append(row);
    return input;
  }

  private showRanges(): void {
    const shown = this.chosenSince === '' || RANGES.includes(this.chosenSince)
      ? RANGES : [...RANGES, this.chosenSince];
    this.since.replaceChildren(...shown.map((since) => h('button', {
      type: 'button', 'aria-pressed': String(since === this.chosenSince),
      onclick: () => {
        this.chosenSince = since;
        this.field('start').value = '';
        this.field('end').value = '';
        this.send();
      },
    }, since)));
  }

  private field(name: (typeof TEXT_FIELDS)[number]): HTMLInputElement {
    const input = this.texts.get(name);
    if (input === undefined) throw new Error(`no field ${name}`);
    return input;
  }

  private makeOptions(): HTMLElement {
    const labelled = (text: string, field: HTMLElement): HTMLElement =>
      h('label', { class: 'field' }, h('span', {}, text), field);
    const fields = (names: readonly (typeof TEXT_FIELDS)[number][]): HTMLElement[] =>
      names.map((name) => labelled(HINTS[name][0], this.field(name)));
    return h('div', { class: 'fields' },
      ...fields(['start', 'end', 'step']), labelled('over', this.over), labelled('agg', this.agg),
      labelled('by', this.by), ...fields(['top', 'bottom', 'where', 'machine']),
      labelled('label', this.labels),
      h('datalist', { id: 'groupings' }, ...GROUPING_NAMES.map((name) => h('option', { value: name }))));
  }
}

// Returns " · top 5 · where > 90".
function optionsText(question: Question): string {
  const parts = TEXT_FIELDS.filter((field) => question[field] !== '')
    .map((field) => `${HINTS[field][0]} ${question[field]}`);
  if (question.over !== '') parts.push(`over ${question.over}`);
  if (question.agg !== '') parts.push(`agg ${question.agg}`);
  if (question.by.length > 0) parts.push(`by ${question.by.join(', ')}`);
  if (question.labels.length > 0) parts.push(`label ${question.labels.join(', ')}`);
  return parts.map((part) => ` · ${part}`).join('');
}
