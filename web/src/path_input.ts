// A field for a path or an expression, with suggestions: the pattern "combobox
// with a listbox" of the ARIA guide. Down and Up choose, Enter or Tab takes,
// Escape closes.

import { suggest, type Suggestion } from './completion.ts';
import { h } from './dom.ts';

let count = 0;
const QUIET_MS = 90;

export class PathInput {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;
  private readonly list: HTMLElement;
  private suggestions: Suggestion[] = [];
  private chosen = -1;
  private timer = 0;
  private asked = 0;

  // `onSubmit` is called with Enter when no suggestion is chosen.
  constructor(value: string, label: string, placeholder: string, private readonly onSubmit: () => void) {
    const id = `paths-${++count}`;
    this.list = h('ul', { role: 'listbox', id, class: 'suggestions', 'aria-label': 'Suggestions', hidden: true });
    this.input = h('input', {
      type: 'text', class: 'path', role: 'combobox', 'aria-label': label, 'aria-autocomplete': 'list',
      'aria-expanded': 'false', 'aria-controls': id, autocomplete: 'off', autocapitalize: 'off',
      spellcheck: 'false', placeholder,
      oninput: () => this.ask(),
      onkeydown: (event) => this.onKey(event as KeyboardEvent),
      onblur: () => this.close(),
    });
    this.input.value = value;
    this.element = h('div', { class: 'path-input' }, this.input, this.list);
  }

  private ask(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(async () => {
      const own = ++this.asked;
      let found: Suggestion[];
      try {
        found = await suggest(this.input.value.slice(0, this.input.selectionStart ?? undefined));
      } catch {
        found = []; // the question itself reports what is wrong
      }
      if (own === this.asked && document.activeElement === this.input) this.show(found);
    }, QUIET_MS);
  }

  private show(suggestions: Suggestion[]): void {
    this.suggestions = suggestions.filter(({ text }) => text !== this.input.value);
    this.chosen = -1;
    this.list.replaceChildren(...this.suggestions.map((suggestion, i) => h('li', {
      role: 'option', id: `${this.list.id}-${i}`, 'aria-selected': 'false',
      // Before the field loses the focus.
      onmousedown: (event) => {
        event.preventDefault();
        this.take(suggestion);
      },
    }, h('span', { class: 'suggestion' }, suggestion.shown), h('span', { class: 'detail' }, suggestion.detail))));
    const isOpen = this.suggestions.length > 0;
    this.list.hidden = !isOpen;
    this.input.setAttribute('aria-expanded', String(isOpen));
    this.input.removeAttribute('aria-activedescendant');
  }

  close(): void {
    window.clearTimeout(this.timer);
    ++this.asked;
    this.show([]);
  }

  private onKey(event: KeyboardEvent): void {
    const isOpen = !this.list.hidden;
    if (event.key === 'ArrowDown' && !isOpen) this.ask();
    else if (event.key === 'ArrowDown') this.choose(this.chosen + 1);
    else if (event.key === 'ArrowUp' && isOpen) this.choose(this.chosen - 1);
    else if (event.key === 'Escape' && isOpen) this.close();
    else if ((event.key === 'Enter' || event.key === 'Tab') && isOpen && this.chosen >= 0) {
      this.take(this.suggestions[this.chosen]);
    } else if (event.key === 'Enter') {
      this.close();
      this.onSubmit();
    } else {
      return;
    }
    event.preventDefault();
  }

  private choose(index: number): void {
    const number = this.suggestions.length;
    this.chosen = (index + number) % number;
    [...this.list.children].forEach((item, i) => item.setAttribute('aria-selected', String(i === this.chosen)));
    const item = this.list.children[this.chosen];
    item.scrollIntoView({ block: 'nearest' });
    this.input.setAttribute('aria-activedescendant', item.id);
  }

  private take(suggestion: Suggestion): void {
    const rest = this.input.value.slice(this.input.selectionStart ?? this.input.value.length);
    this.input.value = suggestion.text + rest;
    this.input.setSelectionRange(suggestion.text.length, suggestion.text.length);
    if (suggestion.isComplete) {
      this.close();
      this.onSubmit();
    } else {
      this.ask();
    }
  }
}
