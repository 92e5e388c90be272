// Charts of any paths or expressions.

import { formatAddress, type ExploreView, type View } from './address.ts';
import { isAbort, messageOf } from './api.ts';
import { countersets } from './catalogue.ts';
import { Chart } from './chart.ts';
import { ChartData, MAX_LINES, type Line } from './chart_data.ts';
import { displayText } from './display_text.ts';
import { h, replace, setText } from './dom.ts';
import { ExplainPanel } from './explain_panel.ts';
import { saveCsv, savePng } from './export.ts';
import { Feed, type Continuation } from './feed.ts';
import { LiveBadge } from './live_badge.ts';
import { Notes } from './notes.ts';
import type { Navigate, Page } from './page.ts';
import { canSubscribe, commandOf, EMPTY_QUESTION, InputError, queryOf, rangeOf, stepOf, subscriptionOf,
  type Question, type Range } from './question.ts';
import { QuestionForm } from './question_form.ts';
import { currentZone } from './settings.ts';
import { formatAge, formatDuration, formatTime, toRfc3339 } from './times.ts';
import { formatDecimals } from './units.ts';
import { valueTable } from './value_table.ts';
import { VirtualTable } from './virtual_table.ts';
import { secondsOf } from './wire.ts';

const EXAMPLES: readonly (readonly [string, Partial<Question>])[] = [
  ['Busiest machines', { paths: ['\\Processor Information(_Total)\\% Processor Time'], top: '10' }],
  ['Processor time by role', { paths: ['\\Processor Information(_Total)\\% Processor Time'], agg: 'avg', by: ['label:role'] }],
  ['Memory that is available', { paths: ['\\Memory\\Available Bytes'], bottom: '10' }],
  ['Disk traffic of the fleet', { paths: ['\\PhysicalDisk(*)\\Disk Read Bytes/sec', '\\PhysicalDisk(*)\\Disk Write Bytes/sec'], agg: 'sum' }],
  ['Bytes of each disk transfer', { paths: ['\\PhysicalDisk(*)\\Disk Bytes/sec / \\PhysicalDisk(*)\\Disk Transfers/sec'], top: '10' }],
  ['Fullest filesystems', { paths: ['100 - \\LogicalDisk(*)\\% Free Space'], top: '10' }],
];

const CHART_HEIGHT = Math.max(320, Math.round(window.innerHeight * 0.36));
const PIXELS_OF_POINT = 2;
const MOST_POINTS = 900;
const MOST_VALUES = 100_000;
const TICK_MS = 1000;

export class ExplorePage implements Page {
  readonly element: HTMLElement;
  private readonly form: QuestionForm;
  private readonly badge = new LiveBadge();
  private readonly liveButton: HTMLButtonElement;
  private readonly tableButton: HTMLButtonElement;
  private readonly summary: HTMLElement;
  private readonly notes = new Notes();
  private readonly problem: HTMLElement;
  private readonly results: HTMLElement;
  private readonly actions: HTMLElement;
  private readonly explanation = new ExplainPanel();
  private charts: Chart[] = [];
  private tables: VirtualTable[] = [];
  private feed: Feed | undefined;
  private data: ChartData | undefined;
  private range: Range = { from: 0, to: 1, isToNow: true };
  private step = 1000;
  private arrivedAt = 0;
  private timer = 0;
  private isHistoryRead = false;
  // The question before zooming and panning.
  private whole: Question | undefined;

  constructor(private view: ExploreView, private readonly navigate: Navigate) {
    this.form = new QuestionForm((question) => this.ask(question));
    this.summary = h('p', { class: 'summary', role: 'status' });
    this.problem = h('p', { class: 'problem', role: 'alert', hidden: true });
    this.results = h('div', { class: 'results' });
    this.liveButton = h('button', {
      type: 'button', title: 'Follow new values',
      onclick: () => this.navigate({ ...this.view, live: !this.view.live }, true),
    }, 'Live');
    this.tableButton = h('button', {
      type: 'button', title: 'Show the values as a table',
      onclick: () => this.navigate({ ...this.view, table: !this.view.table }, true),
    }, 'Table');
    const action = (text: string, use: (button: HTMLButtonElement) => void): HTMLButtonElement => {
      const button = h('button', { type: 'button', class: 'quiet', onclick: () => use(button) }, text);
      return button;
    };
    this.actions = h('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Chart' },
      this.liveButton, this.badge.element, h('span', { class: 'grow' }), this.tableButton,
      action('CSV', () => saveCsv(this.charts, this.range.from, this.range.to)),
      action('PNG', () => void savePng(this.charts, this.view.question.paths.join(', '))),
      action('Copy link', (button) => void copy(location.href, button)),
      action('Copy command', (button) => void copy(commandOf(this.view.question, this.view.table), button)));
    this.element = h('div', { class: 'explore' },
      h('h1', { class: 'visually-hidden' }, 'Explore'),
      this.form.element, this.actions, this.problem, this.summary, this.results, this.explanation.element,
      this.notes.element);
    this.update(view);
  }

  update(view: View): void {
    if (view.page !== 'explore') return;
    this.view = view;
    this.form.show(view.question);
    document.title = displayText(`${view.question.paths[0] ?? 'Explore'} – fleetperf`);
    this.liveButton.setAttribute('aria-pressed', String(view.live));
    this.tableButton.setAttribute('aria-pressed', String(view.table));
    this.run();
  }

  onSettings(): void {
    this.update(this.view);
  }

  destroy(): void {
    this.stop();
    this.explanation.close();
  }

  private ask(question: Question): void {
    this.whole = undefined;
    // An equal question is asked again.
    const view: ExploreView = { ...this.view, question, live: this.view.live && question.end === '' };
    if (formatAddress(view) === formatAddress(this.view)) this.update(view);
    else this.navigate(view);
  }

  private zoom(from: number, to: number): void {
    const { question } = this.view;
    const now = Date.now();
    if (to - from < 1000) return;
    this.whole ??= question;
    this.navigate({
      ...this.view,
      live: false,
      question: { ...question, since: '', start: toRfc3339(Math.round(from / 1000) * 1000),
        end: to >= now ? '' : toRfc3339(Math.round(to / 1000) * 1000) },
    });
  }

  private reset(): void {
    if (this.whole === undefined) return;
    const question = this.whole;
    this.whole = undefined;
    this.navigate({ ...this.view, question });
  }

  private stop(): void {
    this.feed?.close();
    this.feed = undefined;
    window.clearInterval(this.timer);
    this.charts.forEach((chart) => chart.destroy());
    this.tables.forEach((table) => table.destroy());
    this.charts = [];
    this.tables = [];
  }

  private run(): void {
    this.stop();
    this.explanation.close();
    this.problem.hidden = true;
    this.notes.clear();
    setText(this.summary, '');
    this.badge.show({ kind: 'off' });
    const { question } = this.view;
    const isEmpty = question.paths.length === 0;
    this.actions.hidden = isEmpty;
    if (isEmpty) {
      this.showExamples();
      return;
    }
    try {
      this.range = rangeOf(question, Date.now(), currentZone());
      const points = Math.min(MOST_POINTS, Math.max(200, this.results.clientWidth / PIXELS_OF_POINT));
      this.step = stepOf(question, this.range, points);
      const request = queryOf(question, this.range, this.step);
      // Windows of a fixed start begin at it; those of live values at multiples of the step.
      if (request.startTime !== undefined) {
        request.startTime = toRfc3339(Math.floor(this.range.from / this.step) * this.step);
      }
      this.begin(question, request);
    } catch (error) {
      if (error instanceof InputError) this.form.showProblem(error);
      else this.showProblem(error);
      this.results.replaceChildren();
    }
  }

  private begin(question: Question, request: ReturnType<typeof queryOf>): void {
    const limit = Number(question.top || question.bottom || MAX_LINES);
    const isRanked = question.top !== '' || question.bottom !== '' || question.where !== '';
    const values = Math.min(MOST_VALUES, Math.ceil(((this.range.to - this.range.from) / this.step) * 1.2) + 300);
    const data = new ChartData(limit, values, isRanked);
    this.data = data;
    this.isHistoryRead = false;
    const busy = h('p', { class: 'busy' }, 'Asking …');
    replace(this.results, busy);
    this.feed = new Feed(request, this.step, {
      lineOf: (series) => data.lineOf(series),
      newestTime: () => data.newestTime(),
      onValues: () => {
        this.arrivedAt = performance.now();
        if (this.isHistoryRead) this.showPanels();
      },
    }, {
      onHistory: () => {
        this.isHistoryRead = true;
        data.settle();
        this.showPanels();
        if (data.size === 0) replace(this.results, h('p', { class: 'empty' }, nothingText(question)));
        this.summarize();
      },
      onError: (error) => {
        if (isAbort(error)) return;
        this.showProblem(error);
        this.results.replaceChildren();
        // The error says what is missing, too.
        this.notes.clear();
      },
      onState: (state) => this.badge.show(state),
      onProgress: ({ machinesRead = '0', machines = '0' }) => {
        setText(busy, Number(machines) > 1 ? `Reading: ${machinesRead} of ${machines} machines` : 'Reading …');
      },
      onMissing: ({ path = '', reason = '' }) => this.notes.add(`${path}: ${reason}`),
      onSilent: ({ machine = '', newestSample = '', clockSkew, hasSamples = false }) => {
        const newest = Date.parse(newestSample);
        const skew = secondsOf(clockSkew);
        this.notes.add(`${machine} is silent${hasSamples ? ' in a part of this time' : ''}: ` +
          `its newest sample is of ${formatTime(newest, currentZone())}, ` +
          (clockSkew === undefined ? `${formatAge(Date.now() - newest)}.`
            : `since its clock is ${formatDuration(Math.round(Math.abs(skew)) * 1000)} ` +
              `${skew < 0 ? 'behind' : 'ahead of'} the other machines' clocks.`));
      },
      onMachines: ({ widened = 0, widenedInterval = '10s' }) => {
        if (widened > 0) this.notes.add(`${widened} machines send their values every ${widenedInterval} only, because too many are watched.`);
      },
      onLagged: (dropped) => this.notes.add(`${dropped} values were left out, because this browser reads too slowly.`),
    }, () => this.continuation(question, request, data, isRanked));
    if (!this.view.live) return;
    this.timer = window.setInterval(() => {
      if (performance.now() - this.arrivedAt > 2 * this.step) this.moveRange();
    }, TICK_MS);
  }

  // Ranked lines are followed one by one: a subscription ranks newest values, and
  // the question ranks those of the whole time.
  private continuation(
    question: Question, request: ReturnType<typeof queryOf>, data: ChartData, isRanked: boolean,
  ): Continuation | undefined {
    if (!this.view.live || data.size === 0) return undefined;
    if (!canSubscribe(question)) return { catchUp: request };
    const paths = isRanked || data.leftOut > 0 ? data.exactPaths() : undefined;
    return {
      catchUp: paths === undefined ? request : { paths, step: request.step ?? '1s' },
      subscribe: subscriptionOf(question, this.step, paths),
    };
  }

  private showPanels(): void {
    const { data } = this;
    if (data === undefined) return;
    const isNew = data.panels.length !== this.charts.length ||
      data.panels.some((panel, i) => this.charts[i].shown !== panel);
    if (isNew) this.makeCharts(data);
    this.moveRange();
  }

  private makeCharts(data: ChartData): void {
    if (this.charts.length !== data.panels.length) {
      this.charts.forEach((chart) => chart.destroy());
      this.tables.forEach((table) => table.destroy());
      this.charts = data.panels.map(() => new Chart({ height: CHART_HEIGHT, hasLegend: true }, {
        onZoom: (from, to) => this.zoom(from, to),
        onReset: () => this.reset(),
        onPick: (line, time) => void this.explanation.show(line, time, this.canExplain(line)),
        onCursor: (time) => this.charts.forEach((chart) => chart.setCursor(time)),
      }));
      this.tables = this.view.table ? data.panels.map((panel) => new VirtualTable(`Values in ${panel.unit}`)) : [];
      replace(this.results, ...this.charts.flatMap((chart, i) => [chart.element, this.tables[i]?.element]));
    }
    data.panels.forEach((panel, i) => this.charts[i].setPanel(panel));
  }

  // Of live values, shows the time up to the newest one, or to now if none has
  // arrived for a while: so a machine that died leaves a growing space.
  private moveRange(): void {
    let { from, to } = this.range;
    const newest = this.data?.newestTime() ?? -Infinity;
    if (this.view.live && Number.isFinite(newest)) {
      const length = to - from;
      to = Math.max(newest + Math.max(0, performance.now() - this.arrivedAt - 2 * this.step), to);
      from = to - length;
      this.range = { from, to, isToNow: true };
    }
    this.charts.forEach((chart) => chart.setRange(from, to, this.step));
    this.tables.forEach((table, i) => table.setModel(valueTable(this.charts[i].shown, from, to)));
  }

  private summarize(): void {
    const { data } = this;
    if (data === undefined) return;
    const range = `${formatTime(Math.round(this.range.from / 1000) * 1000, currentZone())} to ` +
      `${formatTime(Math.round(this.range.to / 1000) * 1000, currentZone())}`;
    const zone = currentZone() === 'utc' ? ' UTC' : '';
    const largest = data.leftOut > 0 ? `the ${data.size} largest of ${data.size + data.leftOut} lines, ` : '';
    setText(this.summary, `${largest}${range}${zone}, one value per ${formatDuration(this.step)}`);
  }

  private canExplain(line: Line): boolean {
    return (line.series.machine ?? '') !== '' && canSubscribe(this.view.question) &&
      line.series.labels === undefined;
  }

  private showProblem(error: unknown): void {
    this.problem.hidden = false;
    setText(this.problem, messageOf(error));
  }

  private showExamples(): void {
    const catalogue = h('dl', { class: 'catalogue' });
    replace(this.results,
      h('h2', {}, 'Questions to begin with'),
      h('ul', { class: 'examples' }, ...EXAMPLES.map(([title, part]) => {
        const question = { ...EMPTY_QUESTION, ...part };
        return h('li', {}, h('a', { href: formatAddress({ page: 'explore', question, live: false, table: false }) },
          h('strong', {}, title), h('code', {}, commandOf(question, false).replace(/^fleetperf plot | --since \w+/g, ''))));
      })),
      h('h2', {}, 'Countersets of the fleet'), catalogue);
    countersets().then((sets) => {
      for (const set of sets) {
        const path = `\\${set.name}${set.hasInstances === true ? '(*)' : ''}\\*`;
        const question = { ...EMPTY_QUESTION, paths: [path], machine: '' };
        catalogue.append(
          h('dt', {}, h('a', { href: formatAddress({ page: 'explore', question, live: false, table: false }),
            title: path }, set.name ?? '')),
          h('dd', {}, `${set.help ?? ''} `, h('span', { class: 'detail' },
            `${set.counters ?? 0} counters, collected on ${formatDecimals(set.collectingMachines ?? 0, 0)} machines`)));
      }
    }, (error: unknown) => this.showProblem(error));
  }
}

function nothingText(question: Question): string {
  return question.where === '' ? 'No values in this time.'
    : `No series has a value that is ${question.where} in this time.`;
}

async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  const before = button.textContent ?? '';
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    // Without permission, the user copies it by hand.
    window.prompt('Copy this:', text);
  }
  window.setTimeout(() => setText(button, before), 1500);
}
