// Links to the pages of the fleet's other aggregators, which answer for other
// samples: those of the machines that are or were connected to them.

import { listOthers } from './api.ts';
import { h, replace } from './dom.ts';
import type { OtherAggregator } from './wire.ts';

// Returns the link that opens the view `hash` on another page; undefined if the
// aggregator has no page.
export function linkTo(other: OtherAggregator, hash: string): { text: string; href: string } | undefined {
  const page = other.page ?? '';
  if (!page.startsWith('https://')) return undefined;
  return { text: (other.aggregator ?? '').replace(/:\d+$/, ''), href: `${page}/${hash}` };
}

let others: readonly OtherAggregator[] = [];

// Returns the other aggregators that have pages; none before OtherPages.load.
export function othersWithPages(): readonly OtherAggregator[] {
  return others;
}

export class OtherPages {
  readonly element = h('nav', { class: 'others', 'aria-label': 'Other aggregators', hidden: true });

  // Asks for the other aggregators once. Without an answer, there are no links.
  async load(): Promise<void> {
    const all = await listOthers(new AbortController().signal).catch(() => []);
    others = all.filter((other) => linkTo(other, '') !== undefined);
    this.show();
  }

  // Makes the links open the present view.
  show(): void {
    const links = others.flatMap((other) => linkTo(other, location.hash) ?? []);
    this.element.hidden = links.length === 0;
    replace(this.element, ...links.map(({ text, href }) =>
      h('a', { href, title: 'The same view at this aggregator, with its samples' }, text)));
  }
}
