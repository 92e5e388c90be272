// The notes below charts: what is missing in them, and why.

import { unreachableText } from './api.ts';
import { h } from './dom.ts';
import type { UnreachablePeer } from './wire.ts';

const MAX_NOTES = 20;

export class Notes {
  readonly element = h('ul', { class: 'notes' });
  // Aggregators that cannot be reached: of the answer, and for live values now.
  private readonly unreachable = new Set<string>();
  private live: string[] = [];

  clear(): void {
    this.element.replaceChildren();
    this.unreachable.clear();
    this.live = [];
  }

  // Adds a note once, unless there are many.
  add(text: string): void {
    if (this.element.children.length < MAX_NOTES) this.append(text);
  }

  addUnreachable(peer: UnreachablePeer): void {
    this.unreachable.add(unreachableText(peer));
    this.append(unreachableText(peer));
  }

  setLiveUnreachable(peers: UnreachablePeer[]): void {
    for (const text of this.live) if (!this.unreachable.has(text)) this.remove(text);
    this.live = peers.map(unreachableText);
    for (const text of this.live) this.append(text);
  }

  // Removes all notes but those of aggregators that the answer lacks.
  keepUnreachable(): void {
    this.element.replaceChildren();
    for (const text of this.unreachable) this.append(text);
  }

  private append(text: string): void {
    const known = [...this.element.children].some((note) => note.textContent === text);
    if (!known) this.element.append(h('li', {}, text));
  }

  private remove(text: string): void {
    for (const note of [...this.element.children]) if (note.textContent === text) note.remove();
  }
}
