// A table of any number of rows, of which only those in view have elements.
// Screen readers get the number of rows and the place of each one.

import { displayText } from './display_text.ts';
import { h, oncePerFrame } from './dom.ts';

export interface TableModel {
  columns: readonly { title: string; isNumber?: boolean; sort?: 'ascending' | 'descending' }[];
  rowCount: number;
  cell(row: number, column: number): string;
  // A row whose cells are marked: its machine is missing or late.
  kind?(row: number): string;
}

export interface TableEvents {
  onOpen?(row: number): void;
  onSort?(column: number): void;
}

const ROW_HEIGHT = 30;
const SPARE_ROWS = 8;

export class VirtualTable {
  readonly element: HTMLElement;
  private readonly head: HTMLTableSectionElement;
  private readonly body: HTMLTableSectionElement;
  private readonly above: HTMLTableRowElement;
  private readonly below: HTMLTableRowElement;
  private readonly observer: ResizeObserver;
  private readonly table: HTMLTableElement;
  private model: TableModel = { columns: [], rowCount: 0, cell: () => '' };
  private rows: HTMLTableRowElement[] = [];
  private focused = 0;
  private first = 0;
  readonly update = oncePerFrame(() => this.draw());

  constructor(label: string, private readonly events: TableEvents = {}) {
    this.head = h('thead');
    // Spacers take the room of the rows that have no elements.
    this.above = h('tr', { class: 'spacer', 'aria-hidden': 'true' });
    this.below = h('tr', { class: 'spacer', 'aria-hidden': 'true' });
    this.body = h('tbody', {}, this.above, this.below);
    this.table = h('table', { 'aria-label': label }, this.head, this.body);
    this.element = h('div', {
      class: 'virtual-table', tabindex: 0, role: 'region', 'aria-label': label,
      onscroll: () => this.update(),
      onkeydown: (event) => this.onKey(event as KeyboardEvent),
    }, this.table);
    this.observer = new ResizeObserver(() => this.update());
    this.observer.observe(this.element);
  }

  destroy(): void {
    this.observer.disconnect();
    this.element.remove();
  }

  setModel(model: TableModel): void {
    this.model = model;
    this.focused = Math.min(this.focused, Math.max(0, model.rowCount - 1));
    this.table.setAttribute('aria-rowcount', String(model.rowCount + 1));
    this.table.setAttribute('aria-colcount', String(model.columns.length));
    this.drawHead();
    this.update();
  }

  private drawHead(): void {
    this.head.replaceChildren(h('tr', { 'aria-rowindex': 1 }, ...this.model.columns.map((column, i) => {
      const cell = h('th', {
        scope: 'col', class: column.isNumber === true ? 'number' : '', 'aria-sort': column.sort,
      });
      if (this.events.onSort === undefined) cell.append(displayText(column.title));
      else cell.append(h('button', { type: 'button', onclick: () => this.events.onSort?.(i) }, column.title));
      return cell;
    })));
  }

  private draw(): void {
    const { rowCount, columns } = this.model;
    const inView = Math.ceil(this.element.clientHeight / ROW_HEIGHT) + 2 * SPARE_ROWS;
    const number = Math.min(rowCount, inView);
    this.first = Math.max(0, Math.min(
      Math.floor(this.element.scrollTop / ROW_HEIGHT) - SPARE_ROWS, rowCount - number));
    if (this.rows.length !== number || this.rows[0]?.cells.length !== columns.length) {
      this.makeRows(number, columns.length);
    }
    this.above.style.height = `${this.first * ROW_HEIGHT}px`;
    this.below.style.height = `${(rowCount - number - this.first) * ROW_HEIGHT}px`;
    this.rows.forEach((element, i) => this.fill(element, this.first + i));
  }

  private makeRows(number: number, columns: number): void {
    this.rows.forEach((row) => row.remove());
    this.rows = Array.from({ length: number }, (_, i) => {
      const row = h('tr', { onclick: () => this.events.onOpen?.(this.first + i) });
      for (let column = 0; column < columns; ++column) row.append(h('td'));
      this.below.before(row);
      return row;
    });
  }

  private fill(element: HTMLTableRowElement, row: number): void {
    element.setAttribute('aria-rowindex', String(row + 2));
    const kind = this.model.kind?.(row) ?? '';
    const isFocused = this.events.onOpen !== undefined && row === this.focused;
    element.className = isFocused ? `${kind} focused` : kind;
    this.model.columns.forEach((column, i) => {
      const cell = element.cells[i];
      const text = displayText(this.model.cell(row, i));
      if (cell.textContent !== text) {
        cell.textContent = text;
        cell.title = text.length > 24 ? text : '';
      }
      cell.classList.toggle('number', column.isNumber === true);
    });
  }

  private onKey(event: KeyboardEvent): void {
    if (event.target !== this.element || this.events.onOpen === undefined) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 2);
    const moves: Record<string, number> = {
      ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
      Home: -this.model.rowCount, End: this.model.rowCount,
    };
    if (event.key === 'Enter' && this.model.rowCount > 0) this.events.onOpen(this.focused);
    else if (event.key in moves) this.moveTo(this.focused + moves[event.key]);
    else return;
    event.preventDefault();
  }

  private moveTo(row: number): void {
    this.focused = Math.max(0, Math.min(this.model.rowCount - 1, row));
    const top = this.focused * ROW_HEIGHT;
    const height = this.element.clientHeight - 2 * ROW_HEIGHT;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top > this.element.scrollTop + height) this.element.scrollTop = top - height;
    this.update();
  }
}
