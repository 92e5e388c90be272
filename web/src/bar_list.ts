// Newest values as bars: names, numbers and lengths.

import { h } from './dom.ts';

export interface Bar {
  name: string;
  detail?: string;
  text: string;
  part: number; // from 0 to 1
  isLow?: boolean; // needs attention
  href?: string;
}

export class BarList {
  readonly element = h('ol', { class: 'bars' });

  show(bars: readonly Bar[]): void {
    while (this.element.children.length > bars.length) this.element.lastChild?.remove();
    bars.forEach((bar, i) => {
      const old = this.element.children[i];
      const row = rowOf(bar);
      // Unequal rows only, so that the focus and screen readers rest.
      if (old === undefined) this.element.append(row);
      else if (!old.isEqualNode(row)) old.replaceWith(row);
    });
  }
}

function rowOf(bar: Bar): HTMLElement {
  const fill = h('span', { class: bar.isLow === true ? 'bar low' : 'bar', 'aria-hidden': 'true' });
  fill.style.width = `${(Math.max(0, Math.min(1, bar.part)) * 100).toFixed(1)}%`;
  const name = bar.href === undefined ? h('span', { class: 'bar-name' }, bar.name)
    : h('a', { class: 'bar-name', href: bar.href }, bar.name);
  return h('li', {}, fill, name, bar.detail !== undefined && h('span', { class: 'detail' }, bar.detail),
    h('span', { class: 'bar-value' }, bar.text));
}
