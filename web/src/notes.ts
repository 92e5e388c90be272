// The notes below charts: what is missing in them, and why.

import { displayText } from './display_text.ts';
import { h } from './dom.ts';

const MAX_NOTES = 20;

export class Notes {
  readonly element = h('ul', { class: 'notes' });

  clear(): void {
    this.element.replaceChildren();
  }

  // Adds a note once, unless there are many.
  add(text: string): void {
    if (this.element.children.length >= MAX_NOTES) return;
    const shown = displayText(text);
    const known = [...this.element.children].some((note) => note.textContent === shown);
    if (!known) this.element.append(h('li', {}, text));
  }
}
